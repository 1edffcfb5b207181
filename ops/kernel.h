// Kernels: how an op runs on one device. Made once per node when a program is compiled, run every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/op.h"

namespace tidemark::ops {

enum class KernelDevice { cpu, cuda };

struct KernelRequest {
  OpCall call;
  int threads = 1;  // CPU: size of the fixed OpenMP partition
};

struct KernelArgs {
  std::span<const void* const> inputs;  // parallel to the node's inputs; nullptr for absent ones
  std::span<void* const> outputs;       // parallel to its outputs; may equal an input as OutputSpec says
  std::byte* workspace = nullptr;       // Kernel::workspace_bytes() bytes, 64-byte aligned (CUDA: 256)
  void* stream = nullptr;               // CUDA stream; unused on the CPU
};

// An input that the kernel wants in a layout of its own (a "packed weight"). The compiler then makes a value of
// Category::packed with these bytes, runs pack() before the node, and passes the packed bytes as that input.
struct PackedInput {
  size_t input = 0;
  int64_t bytes = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Scratch bytes, booked when the kernel is made, given by the arena when it runs. Kernels never allocate in run().
  virtual int64_t workspace_bytes() const { return 0; }
  virtual std::vector<PackedInput> packed_inputs() const { return {}; }
  // Writes `plain` into the layout of `packed_inputs()[which]`. Only called for kernels with packed inputs; workspace
  // as run().
  virtual void pack(size_t which, const void* plain, void* packed, std::byte* workspace) const;
  // True if run() itself may throw Error(out_of_memory) (vendor libraries); such nodes run before any update in place.
  virtual bool can_be_refused() const { return false; }
  // Computes the outputs. Same inputs, same bits, whatever the addresses. Does not allocate memory of ours.
  virtual void run(const KernelArgs& args) const = 0;
};

// One implementation in an op's ordered list, the portable one last.
struct KernelEntry {
  std::string name;  // "onednn:matmul", "cpu:layer_norm"
  KernelDevice device = KernelDevice::cpu;
  // nullptr with the reason in `why_not` if it does not take this call (dtype, shape, missing ISA).
  std::unique_ptr<Kernel> (*make)(const KernelRequest& request, std::string& why_not) = nullptr;
};

}  // namespace tidemark::ops
