#include "ops/fill/fill.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/op_rules.h"
#include "ops/partition.h"

namespace tidemark::ops {
namespace {

class FillOp : public Op {
 public:
  std::string_view name() const override { return "fill"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 1, 1);
    call.attributes.real("value");
    return {{.type = call.input(0), .overwrites = 0}};
  }
  Cost cost(const OpCall& call) const override { return {.bytes_written = call.input(0).bytes()}; }
};

template <class Element>
class FillCpu : public Kernel {
 public:
  FillCpu(int64_t count, Element value, int threads)
      : count_(count), value_(value), threads_(useful_threads(threads, count)) {}

  void run(const KernelArgs& args) const override {
    Element* out = static_cast<Element*>(args.outputs[0]);
    const auto fill_part = [&](int64_t begin, int64_t end, int) { std::fill(out + begin, out + end, value_); };
    parallel_for(threads_, count_, fill_part, kElementsPerCacheLine);
  }

 private:
  const int64_t count_;
  const Element value_;
  const int threads_;
};

template <class Element>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const auto value = static_cast<Element>(request.call.attributes.real("value"));
  return std::make_unique<FillCpu<Element>>(request.call.input(0).shape.elements(), value, request.threads);
}

std::unique_ptr<Kernel> make_fill_cpu(const KernelRequest& request, std::string& why_not) {
  const DType dtype = request.call.input(0).dtype;
  if (dtype == DType::f32) return make<float>(request);
  if (dtype == DType::i32) return make<int32_t>(request);
  why_not = "takes f32 and i32, target is " + to_string(request.call.input(0));
  return nullptr;
}

}  // namespace

OpDefinition fill_op() { return {std::make_unique<FillOp>(), {{"cpu:fill", KernelDevice::cpu, make_fill_cpu}}}; }

}  // namespace tidemark::ops
