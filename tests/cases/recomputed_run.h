// A tiny run beside itself under the least budget that works: what the cases about recomputation compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/kernel.h"
#include "tests/integration/differences.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {

// Plans under the least budget that works; recomputation must take part (a test failure if it does not).
std::unique_ptr<TinyRun> run_within_least_budget(const std::string& config, const std::string& folder,
                                                 std::vector<std::string> overrides);

// Instructions that run again, in all bodies; with an op, of that op alone.
std::vector<const compile::Instruction*> again(const compile::Program& program, const std::string& op = "");

// Of those, how many read what an instruction that runs again has made: recomputation that rests on recomputation.
int64_t nested(const compile::Program& program);

// A kernel that stands in for the one that the plan chose.
class WrappedKernel : public ops::Kernel {
 public:
  explicit WrappedKernel(std::shared_ptr<const ops::Kernel> inner) : inner_(std::move(inner)) {}
  int64_t workspace_bytes() const override { return inner_->workspace_bytes(); }

 protected:
  const std::shared_ptr<const ops::Kernel> inner_;
};

// Wraps the kernels of an op's instructions (only those that run again, if `again_only`), before the run takes its
// memory. Returns how many.
template <class Wrapped>
int64_t wrap_kernels(TinyRun& tiny, const std::string& op, bool again_only) {
  int64_t wrapped = 0;
  for (compile::Body& body : tiny.planned().program->bodies)
    for (compile::Instruction& i : body.instructions) {
      if (i.op != op || (again_only && i.node.find("/again") == std::string::npos)) continue;
      i.kernel = std::make_shared<Wrapped>(i.kernel);
      ++wrapped;
    }
  return wrapped;
}

}  // namespace tidemark::tests
