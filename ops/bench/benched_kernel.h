// An op's first CPU kernel with operands of its own, for benchmarks.
#pragma once

#include <optional>
#include <vector>

#include "ops/op_definition.h"

namespace tidemark::ops::bench {

class BenchedKernel {
 public:
  // f32 operands hold small values around 0, i32 operands values in [0, integers). Outputs lie on the inputs that
  // they overwrite, else on memory of their own.
  BenchedKernel(OpDefinition definition, Attributes attributes, std::vector<std::optional<ValueType>> inputs,
                int threads, int64_t integers = 1);

  void run() const;

  double flops() const { return flops_; }  // as the op declares them
  int64_t workspace_bytes() const { return choice_.kernel->workspace_bytes(); }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  void* allocate(int64_t bytes);

  OpSet ops_;
  Attributes attributes_;
  std::vector<std::optional<ValueType>> types_;
  KernelChoice choice_;
  double flops_ = 0;
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::byte* workspace_ = nullptr;
};

}  // namespace tidemark::ops::bench
