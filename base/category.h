// What a byte of device memory is for. Every byte has exactly one category; the list is closed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark {

enum class Category : uint8_t {
  weights,
  packed,
  gradients,
  optimizer,
  statistics,
  activations,
  workspace,
  input,
  kv_cache,
  communication,
  captured_graph,
  checkpoint,
  user,
};

inline constexpr int kCategoryCount = 13;

std::string_view to_string(Category category);
std::optional<Category> category_from_string(std::string_view name);

// Bytes by category, indexed by static_cast<size_t>(Category).
using CategoryBytes = std::array<int64_t, kCategoryCount>;

// How long a value lives: the whole run, one optimizer step, or one micro-batch.
enum class Scope : uint8_t { run, step, micro_batch };

std::string_view to_string(Scope scope);
std::optional<Scope> scope_from_string(std::string_view name);

}  // namespace tidemark
