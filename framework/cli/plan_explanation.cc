#include "framework/cli/plan_explanation.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <ostream>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "framework/compile/further_runs.h"

namespace tidemark::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kTensorsExplained = 10;

bool runs_again(const compile::Instruction& instruction) { return !compile::first_run_of(instruction.node).empty(); }

// What the body costs without its further runs: what Recomputation::overhead is measured by. 0 if not known.
int64_t first_run_nanoseconds(const compile::Body& body) {
  int64_t sum = 0;
  for (const compile::Instruction& i : body.instructions) {
    if (!i.cost_nanoseconds) return 0;
    if (!runs_again(i)) sum += *i.cost_nanoseconds;
  }
  return sum;
}

int64_t output_bytes(const compile::Body& body, const compile::Instruction& instruction) {
  int64_t bytes = 0;
  for (ValueId v : instruction.output_values) bytes += body.graph.value(v).type.bytes();
  return bytes;
}

struct FurtherRun {
  const compile::Instruction* instruction = nullptr;
  int64_t bytes = 0;              // of what it makes, which was let go in between
  std::optional<double> seconds;  // of the run
  double share = 0;               // of what the body costs without its further runs
};

std::vector<FurtherRun> further_runs(const compile::Body& body) {
  std::vector<FurtherRun> runs;
  const auto first_nanoseconds = static_cast<double>(first_run_nanoseconds(body));
  for (const compile::Instruction& i : body.instructions) {
    if (!runs_again(i)) continue;
    FurtherRun& run = runs.emplace_back(FurtherRun{.instruction = &i, .bytes = output_bytes(body, i)});
    if (first_nanoseconds <= 0) continue;
    run.seconds = 1e-9 * static_cast<double>(*i.cost_nanoseconds);
    run.share = static_cast<double>(*i.cost_nanoseconds) / first_nanoseconds;
  }
  return runs;
}

void explain_recomputation(const compile::Body& body, const char* label, std::ostream& out) {
  const std::vector<FurtherRun> runs = further_runs(body);
  if (runs.empty()) return;
  out << fmt::format("run again in '{}', so that what they make need not be kept", body.name);
  if (runs[0].seconds) out << "; cost, and its share of what all else there costs" << label;
  out << '\n';
  for (const FurtherRun& run : runs) {
    out << fmt::format("  {:>12}", format_bytes(run.bytes));
    if (run.seconds) out << fmt::format("  {:>10.4f} ms {:>8.4f} %", 1e3 * *run.seconds, 100 * run.share);
    out << fmt::format("  {:<28} {}\n", run.instruction->op, run.instruction->node);
  }
}

ordered_json recomputed_json(const compile::Program& program) {
  ordered_json recomputed = ordered_json::array();
  for (const compile::Body& body : program.bodies)
    for (const FurtherRun& run : further_runs(body))
      recomputed.push_back({{"body", body.name},
                            {"node", run.instruction->node},
                            {"op", run.instruction->op},
                            {"bytes", run.bytes},
                            {"seconds", run.seconds ? ordered_json(*run.seconds) : ordered_json(nullptr)},
                            {"share", run.seconds ? ordered_json(run.share) : ordered_json(nullptr)}});
  return recomputed;
}

using KernelUses = std::map<std::string, std::map<std::string, int>>;  // by op and kernel

KernelUses kernel_uses(const compile::Program& program) {
  KernelUses uses;
  for (const compile::Body& b : program.bodies)
    for (const compile::Instruction& i : b.instructions) ++uses[i.op][i.kernel_name];
  return uses;
}

ordered_json kernels_json(const compile::Program& program) {
  ordered_json kernels = ordered_json::array();
  for (const auto& [op, names] : kernel_uses(program))
    for (const auto& [name, count] : names) kernels.push_back({{"op", op}, {"kernel", name}, {"uses", count}});
  return kernels;
}

ordered_json peak_tensors_json(const compile::Program& program, const compile::Body& body) {
  ordered_json tensors = ordered_json::array();
  for (const compile::PeakTensor& t : program.tensors_at_peak(body, kTensorsExplained))
    tensors.push_back({{"name", t.name}, {"bytes", t.bytes}, {"category", to_string(t.category)}});
  return tensors;
}

// Empty if the body has no instructions.
std::string peak_node(const compile::Body& body) {
  return body.instructions.empty() ? "" : body.instructions[compile::peak_instruction_of(body)].node;
}

}  // namespace

const compile::Body& find_body(const compile::Program& program, const std::string& name) {
  if (name.empty()) return program.bodies[program.peak_body];
  if (const compile::Body* found = program.find_body(name)) return *found;
  std::string names;
  for (const compile::Body& body : program.bodies) names += (names.empty() ? "'" : ", '") + body.name + "'";
  throw Error(ErrorCode::config, "--body '" + name + "': the plan has no such body; there are " + names);
}

void explain_plan(const train::PlannedRun& run, const compile::Body& body, std::ostream& out) {
  const compile::Program& program = *run.program;
  const char* label = run.costs.estimated ? ", estimated" : "";
  const std::string node = peak_node(body), at = node.empty() ? "the start" : "'" + node + "'";
  if (&body == &program.bodies[program.peak_body]) {
    out << fmt::format("the peak is in '{}' at {}; the largest tensors there\n", body.name, at);
  } else {
    out << fmt::format("the peak of '{}', {}, is at {}; the largest tensors there\n", body.name,
                       format_bytes(body.peak_bytes), at);
  }
  for (const compile::PeakTensor& t : program.tensors_at_peak(body, kTensorsExplained))
    out << fmt::format("  {:>12}  {:<12} {}\n", format_bytes(t.bytes), to_string(t.category), t.name);
  for (const compile::Body& b : program.bodies) explain_recomputation(b, label, out);
  out << "kernels of all bodies\n";
  for (const auto& [op, names] : kernel_uses(program))
    for (const auto& [name, count] : names) out << fmt::format("  {:<28} {:<36} {:>5} uses\n", op, name, count);
}

ordered_json explanation_json(const train::PlannedRun& run, const compile::Body& body) {
  const std::string node = peak_node(body);
  return {{"body", body.name},
          {"peak_bytes", body.peak_bytes},
          {"peak_node", node.empty() ? ordered_json(nullptr) : ordered_json(node)},
          {"tensors_at_peak", peak_tensors_json(*run.program, body)},
          {"recomputed", recomputed_json(*run.program)},
          {"kernels", kernels_json(*run.program)}};
}

}  // namespace tidemark::cli
