#include "tests/cases/recomputed_run.h"

#include <gtest/gtest.h>

#include "framework/compile/compile.h"

namespace tidemark::tests {
namespace {

bool runs_again(const std::string& node) { return node.find("/again") != std::string::npos; }

bool reads_recomputed(const compile::Body& body, const compile::Instruction& instruction) {
  for (ValueId v : instruction.input_values) {
    if (!v.valid() || !body.graph.value(v).producer.valid()) continue;
    if (runs_again(body.graph.node(body.graph.value(v).producer).name)) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<TinyRun> run_within_least_budget(const std::string& config, const std::string& folder,
                                                 std::vector<std::string> overrides) {
  overrides.insert(overrides.end(), {"memory.recompute=auto", "memory.cost_file=" + folder + "/costs.json", ""});
  overrides.back() = "memory.budget=2MiB";
  try {
    TinyRun(config, overrides);
    ADD_FAILURE() << "2 MiB are enough for " << config;
  } catch (const compile::BudgetRefusal& refusal) {
    overrides.back() = "memory.budget=" + std::to_string(refusal.least_budget_bytes());
  }
  auto tiny = std::make_unique<TinyRun>(config, overrides);
  EXPECT_GT(tiny->planned().recompute_overhead, 0) << "nothing is computed again";
  return tiny;
}

std::vector<const compile::Instruction*> again(const compile::Program& program, const std::string& op) {
  std::vector<const compile::Instruction*> found;
  for (const compile::Body& body : program.bodies)
    for (const compile::Instruction& i : body.instructions)
      if (runs_again(i.node) && (op.empty() || i.op == op)) found.push_back(&i);
  return found;
}

int64_t nested(const compile::Program& program) {
  int64_t count = 0;
  for (const compile::Body& body : program.bodies)
    for (const compile::Instruction& i : body.instructions) count += runs_again(i.node) && reads_recomputed(body, i);
  return count;
}

}  // namespace tidemark::tests
