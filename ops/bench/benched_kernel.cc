#include "ops/bench/benched_kernel.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace tidemark::ops::bench {
namespace {

constexpr int64_t kHugePage = int64_t{1} << 21;

void fill(void* to, const ValueType& type, int64_t integers) {
  for (int64_t i = 0; i < type.shape.elements(); ++i) {
    if (type.dtype == DType::i32) static_cast<int32_t*>(to)[i] = static_cast<int32_t>(i * 7919 % integers);
    if (type.dtype == DType::f32) static_cast<float*>(to)[i] = 1e-3f * static_cast<float>(i * 7919 % 1001 - 500);
  }
}

}  // namespace

void BenchedKernel::Free::operator()(void* p) const { std::free(p); }

// Huge pages, as the arena has them where it can.
void* BenchedKernel::allocate(int64_t bytes) {
  const int64_t alignment = bytes >= kHugePage ? kHugePage : 64;
  const size_t rounded = static_cast<size_t>((bytes + alignment) / alignment * alignment);
  void* p = std::aligned_alloc(static_cast<size_t>(alignment), rounded);
  if (!p) throw std::bad_alloc();
  memory_.emplace_back(p);
  if (alignment == kHugePage) madvise(p, rounded, MADV_HUGEPAGE);
  std::memset(p, 0, rounded);
  return p;
}

BenchedKernel::BenchedKernel(OpDefinition definition, Attributes attributes,
                             std::vector<std::optional<ValueType>> inputs, int threads, int64_t integers)
    : attributes_(std::move(attributes)), types_(std::move(inputs)) {
  const std::string name(definition.op->name());
  ops_.add(std::move(definition));
  const OpCall call{attributes_, types_};
  choice_ = ops_.choose_kernel(name, KernelDevice::cpu, {call, threads});
  const Op& op = ops_.table().find(name);
  flops_ = op.cost(call).flops;
  for (const auto& type : types_) {
    void* p = type ? allocate(type->bytes()) : nullptr;
    if (type) fill(p, *type, integers);
    inputs_.push_back(p);
  }
  for (const OutputSpec& output : op.outputs(call)) {
    const bool in_place = output.overwrites && call.has(*output.overwrites);
    outputs_.push_back(in_place ? const_cast<void*>(inputs_[*output.overwrites]) : allocate(output.type.bytes()));
  }
  workspace_ = static_cast<std::byte*>(allocate(choice_.kernel->workspace_bytes()));
}

void BenchedKernel::run() const {
  choice_.kernel->run({.inputs = inputs_, .outputs = outputs_, .workspace = workspace_});
}

}  // namespace tidemark::ops::bench
