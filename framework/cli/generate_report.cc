#include "framework/cli/generate_report.h"

#include <fmt/format.h>

#include <ostream>

#include "base/bytes.h"

namespace tidemark::cli {
namespace {

using nlohmann::ordered_json;

ordered_json sample_json(const std::vector<int32_t>& tokens) {
  return {{"text", text_of(tokens)}, {"tokens", tokens.size()}, {"token_ids", tokens}};
}

int64_t token_count(const inference::GenerateReport& report) {
  int64_t count = 0;
  for (const auto& sample : report.samples) count += std::ssize(sample);
  return count;
}

int64_t weights_bytes(const Generated& g) {
  return g.memory.allocated_by_category[static_cast<size_t>(Category::weights)];
}

std::string why_it_ended(const Generated& g) {
  switch (g.report.finish) {
    case inference::FinishReason::tokens:
      return "as many as were asked for";
    case inference::FinishReason::context:
      return fmt::format("the model has no position after {} tokens, prompt included (model.context)", g.longest_text);
    case inference::FinishReason::stopped:
      return "stopped as asked";
  }
  return "";
}

}  // namespace

std::vector<int32_t> tokens_of(const std::string& text) {
  std::vector<int32_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string text_of(const std::vector<int32_t>& tokens) {
  std::string text;
  for (const int32_t token : tokens) text += static_cast<char>(token);
  return text;
}

ordered_json generate_json(const Generated& g) {
  const inference::GenerateReport& report = g.report;
  auto samples = ordered_json::array();
  for (const auto& sample : report.samples) samples.push_back(sample_json(sample));
  return {{"model", g.model},
          {"device", g.device},
          {"checkpoint", g.checkpoint.empty() ? ordered_json() : ordered_json(g.checkpoint)},
          {"step", g.checkpoint_step},
          {"prompt", text_of(g.request.prompt)},
          {"text", text_of(report.samples.at(0))},
          {"tokens", token_count(report)},
          {"finish_reason", to_string(report.finish)},
          {"samples", std::move(samples)},
          {"seed", g.request.sampling.seed},
          {"temperature", g.request.sampling.temperature},
          {"top_k", g.request.sampling.top_k},
          {"prompt_tokens", g.request.prompt.size()},
          {"prompt_seconds", report.prompt_seconds},
          {"token_seconds", report.token_seconds},
          {"tokens_per_second", report.tokens_per_second()},
          {"kv_cache_bytes", report.kv_cache_bytes},
          {"kv_cache_used_bytes", report.kv_cache_used_bytes},
          {"weights_bytes", weights_bytes(g)},
          {"allocated_peak_bytes", g.memory.allocated_peak_bytes},
          {"reserved_peak_bytes", g.reserved_peak_bytes},
          {"budget_bytes", g.budget_bytes}};
}

void print_texts(const Generated& g, std::ostream& out) {
  const std::string prompt = text_of(g.request.prompt);
  const size_t count = g.report.samples.size();
  for (size_t i = 0; i < count; ++i) {
    if (count > 1) out << "--- sample " << i << " ---\n";
    out << prompt << text_of(g.report.samples[i]) << '\n';
  }
}

void print_figures(const Generated& g, std::ostream& out) {
  out << fmt::format("{} tokens, {:.0f} tokens/s; {}\n", token_count(g.report), g.report.tokens_per_second(),
                     why_it_ended(g));
  out << fmt::format("memory peak {} of {}: weights {}, key/value cache {} ({} filled)\n",
                     format_bytes(g.reserved_peak_bytes), format_bytes(g.budget_bytes), format_bytes(weights_bytes(g)),
                     format_bytes(g.report.kv_cache_bytes), format_bytes(g.report.kv_cache_used_bytes));
}

}  // namespace tidemark::cli
