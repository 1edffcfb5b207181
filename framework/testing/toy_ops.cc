#include "framework/testing/toy_ops.h"

#include <cstring>
#include <functional>

namespace tidemark::testing {
namespace {

using ops::KernelArgs;
using ops::KernelRequest;
using Run = void (*)(const KernelArgs& args, int64_t elements);

struct Toy {
  const char* name;
  Run run;
  std::vector<size_t> may_share = {};
  std::optional<size_t> overwrites = std::nullopt;
  bool workspace = false;
  bool packs = false;
};

const float* in(const KernelArgs& args, size_t i) { return static_cast<const float*>(args.inputs[i]); }
float* out(const KernelArgs& args) { return static_cast<float*>(args.outputs[0]); }

void double_it(const KernelArgs& args, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out(args)[i] = 2 * in(args, 0)[i];
}
void sum(const KernelArgs& args, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out(args)[i] = in(args, 0)[i] + in(args, 1)[i];
}
void descend(const KernelArgs& args, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out(args)[i] = in(args, 0)[i] - in(args, 1)[i];
}
void scratch(const KernelArgs& args, int64_t n) {
  std::memcpy(args.workspace, args.inputs[0], static_cast<size_t>(n) * sizeof(float));
  std::memcpy(args.outputs[0], args.workspace, static_cast<size_t>(n) * sizeof(float));
}
void packed(const KernelArgs& args, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out(args)[i] = in(args, 0)[i] - in(args, 1)[i];
}
void spill(const KernelArgs& args, int64_t n) {
  double_it(args, n);
  out(args)[n] = 1.0F;
}
void forget(const KernelArgs&, int64_t) {}

const std::vector<Toy>& toys() {
  static const std::vector<Toy> all = {
      {.name = "double_it", .run = double_it, .may_share = {0}},
      {.name = "sum", .run = sum, .may_share = {0, 1}},
      {.name = "descend", .run = descend, .overwrites = 0},
      {.name = "scratch", .run = scratch, .workspace = true},
      {.name = "packed", .run = packed, .packs = true},
      {.name = "spill", .run = spill},
      {.name = "forget", .run = forget},
  };
  return all;
}

class ToyOp : public Op {
 public:
  explicit ToyOp(const Toy& toy) : toy_(toy) {}
  std::string_view name() const override { return toy_.name; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    return {{.type = call.input(0), .overwrites = toy_.overwrites, .may_share = toy_.may_share}};
  }
  Cost cost(const OpCall&) const override { return {}; }
  bool may_run_twice() const override { return !toy_.overwrites; }

 private:
  const Toy& toy_;
};

class ToyKernel : public ops::Kernel {
 public:
  ToyKernel(const Toy& toy, int64_t elements) : toy_(toy), elements_(elements) {}
  int64_t workspace_bytes() const override { return toy_.workspace ? elements_ * 4 : 0; }
  std::vector<ops::PackedInput> packed_inputs() const override {
    return toy_.packs ? std::vector<ops::PackedInput>{{.input = 1, .bytes = elements_ * 4}}
                      : std::vector<ops::PackedInput>{};
  }
  void pack(size_t, const void* plain, void* to, std::byte*) const override {
    for (int64_t i = 0; i < elements_; ++i) static_cast<float*>(to)[i] = -static_cast<const float*>(plain)[i];
  }
  void run(const KernelArgs& args) const override { toy_.run(args, elements_); }

 private:
  const Toy& toy_;
  const int64_t elements_;
};

template <size_t kIndex>
std::unique_ptr<ops::Kernel> make(const KernelRequest& request, std::string&) {
  return std::make_unique<ToyKernel>(toys()[kIndex], request.call.input(0).shape.elements());
}

template <size_t... kIndex>
void add_all(ops::OpSet& set, std::index_sequence<kIndex...>) {
  (set.add({std::make_unique<ToyOp>(toys()[kIndex]), {{"toy", ops::KernelDevice::cpu, make<kIndex>}}}), ...);
}

// The compiler inserts pack nodes: their shape rule, without kernels.
class PackOp : public Op {
 public:
  std::string_view name() const override { return "pack"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    return {{.type = {DType::u8, Shape{call.attributes.integer("bytes")}}, .category = Category::packed}};
  }
  Cost cost(const OpCall&) const override { return {}; }
};

}  // namespace

ops::OpSet toy_ops() {
  ops::OpSet set;
  add_all(set, std::make_index_sequence<7>());
  set.add({std::make_unique<PackOp>(), {}});
  return set;
}

}  // namespace tidemark::testing
