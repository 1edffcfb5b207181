#include "base/category.h"

#include "base/error.h"

namespace tidemark {
namespace {

// In the order of the enumerators, whose values index them.
constexpr std::array<std::string_view, kCategoryCount> kCategoryNames = {
    "weights", "packed",   "gradients",     "optimizer",      "statistics", "activations", "workspace",
    "input",   "kv_cache", "communication", "captured_graph", "checkpoint", "user"};
static_assert(static_cast<int>(Category::user) == kCategoryCount - 1);

constexpr std::array<std::string_view, 3> kScopeNames = {"run", "step", "micro_batch"};

template <class Enum, size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  const size_t index = static_cast<size_t>(value);
  TM_CHECK(index < N, "enumerator " + std::to_string(index) + " of " + std::to_string(N));
  return names[index];
}

template <class Enum, size_t N>
std::optional<Enum> value_of(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Category category) { return name_of(kCategoryNames, category); }
std::optional<Category> category_from_string(std::string_view name) { return value_of<Category>(kCategoryNames, name); }

std::string_view to_string(Scope scope) { return name_of(kScopeNames, scope); }
std::optional<Scope> scope_from_string(std::string_view name) { return value_of<Scope>(kScopeNames, name); }

}  // namespace tidemark
