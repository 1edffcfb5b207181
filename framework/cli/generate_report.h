// What `tidemark generate` says when it is done.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/inference/generator.h"

namespace tidemark::cli {

// A request and what came of it.
struct Generated {
  std::string model;
  std::string device;
  std::string checkpoint;  // its folder; empty: initial values
  int64_t checkpoint_step = 0;
  inference::GenerateRequest request;
  inference::GenerateReport report;
  memory::AllocatorStats memory;
  int64_t reserved_peak_bytes = 0;  // all pages of the device, those of the cache too
  int64_t budget_bytes = 0;
  int64_t longest_text = 0;
};

// Bytes as tokens, and back.
std::vector<int32_t> tokens_of(const std::string& text);
std::string text_of(const std::vector<int32_t>& tokens);

// One object. Text that is no UTF-8 (a model may write any bytes) has U+FFFD for what is wrong; token_ids are exact.
nlohmann::ordered_json generate_json(const Generated& generated);

// The texts, each behind its prompt.
void print_texts(const Generated& generated, std::ostream& out);
// Figures and why it ended, in two lines for people.
void print_figures(const Generated& generated, std::ostream& out);

}  // namespace tidemark::cli
