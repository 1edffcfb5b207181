#include "ops/sliced_kernel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "graph/sample_groups.h"

namespace tidemark::ops {
namespace {

constexpr size_t kMostOperands = 16;
constexpr int64_t kWorkspaceAlignment = 64;

int64_t samples_of(const OpCall& whole, const SampleRule& rule) {
  return whole.input(rule.inputs.front()).shape.dim(0);
}

int64_t round_up(int64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

// An operand whose slices lie one after the other.
struct Strided {
  size_t operand = 0;
  int64_t bytes = 0;  // from one slice to the next
};

// A sum over samples, and where it goes on.
struct RunningSum {
  size_t output = 0;
  std::optional<size_t> accumulator;
  int64_t elements = 0;  // f32
  int64_t scratch = 0;   // without an accumulator: where later slices put theirs, an offset in the workspace
};

struct SlicedCall {
  int64_t slices = 1;
  std::vector<Strided> inputs, outputs;
  std::vector<RunningSum> sums;
  int64_t scratch_bytes = 0;  // at the start of the workspace
};

class SlicedKernel : public Kernel {
 public:
  // `full` runs all slices but, where it is given, the last.
  SlicedKernel(SlicedCall call, std::unique_ptr<Kernel> full, std::unique_ptr<Kernel> last)
      : call_(std::move(call)), full_(std::move(full)), last_(std::move(last)) {}

  int64_t workspace_bytes() const override {
    int64_t most = 0;
    for (const Kernel* kernel : {full_.get(), last_.get()})
      if (kernel != nullptr) most = std::max(most, kernel->workspace_bytes());
    return call_.scratch_bytes + most;
  }

  bool can_be_refused() const override {
    return std::ranges::any_of(std::array{full_.get(), last_.get()},
                               [](const Kernel* kernel) { return kernel != nullptr && kernel->can_be_refused(); });
  }

  void run(const KernelArgs& args) const override {
    std::array<const void*, kMostOperands> inputs{};
    std::array<void*, kMostOperands> outputs{};
    std::ranges::copy(args.inputs, inputs.begin());
    std::ranges::copy(args.outputs, outputs.begin());
    const KernelArgs slice_args = {.inputs = {inputs.data(), kMostOperands},
                                   .outputs = {outputs.data(), args.outputs.size()},
                                   .workspace = args.workspace + call_.scratch_bytes,
                                   .stream = args.stream};
    for (const RunningSum& sum : call_.sums) begin(sum, args, inputs);
    for (int64_t slice = 0; slice < call_.slices; ++slice) {
      if (slice > 0) {
        for (const Strided& input : call_.inputs) advance(inputs[input.operand], input.bytes);
        for (const Strided& output : call_.outputs) advance(outputs[output.operand], output.bytes);
        for (const RunningSum& sum : call_.sums) go_on(sum, args, inputs, outputs);
      }
      (slice + 1 == call_.slices && last_ ? *last_ : *full_).run(slice_args);
      if (slice == 0) continue;
      for (const RunningSum& sum : call_.sums) add_scratch(sum, args);
    }
  }

 private:
  static void advance(const void*& at, int64_t bytes) {
    if (at != nullptr) at = static_cast<const std::byte*>(at) + bytes;
  }
  static void advance(void*& at, int64_t bytes) { at = static_cast<std::byte*>(at) + bytes; }

  // From zero, unless the call has a sum to go on from.
  static void begin(const RunningSum& sum, const KernelArgs& args, std::array<const void*, kMostOperands>& inputs) {
    if (!sum.accumulator || inputs[*sum.accumulator] != nullptr) return;
    std::fill_n(static_cast<float*>(args.outputs[sum.output]), sum.elements, 0.0F);
    inputs[*sum.accumulator] = args.outputs[sum.output];
  }

  static void go_on(const RunningSum& sum, const KernelArgs& args, std::array<const void*, kMostOperands>& inputs,
                    std::array<void*, kMostOperands>& outputs) {
    if (sum.accumulator) {
      inputs[*sum.accumulator] = args.outputs[sum.output];
    } else {
      outputs[sum.output] = args.workspace + sum.scratch;
    }
  }

  static void add_scratch(const RunningSum& sum, const KernelArgs& args) {
    if (sum.accumulator) return;
    float* total = static_cast<float*>(args.outputs[sum.output]);
    const float* slice = reinterpret_cast<const float*>(args.workspace + sum.scratch);
    for (int64_t i = 0; i < sum.elements; ++i) total[i] += slice[i];
  }

  const SlicedCall call_;
  const std::unique_ptr<Kernel> full_, last_;
};

SlicedCall plan_slices(const Op& op, const OpCall& whole, const SampleRule& rule, int64_t rows) {
  const int64_t samples = samples_of(whole, rule);
  SlicedCall plan{.slices = (samples + rows - 1) / rows};
  const auto stride = [&](const ValueType& type) {
    return type.bytes() / type.shape.dim(0) * operand_rows(type.shape.dim(0), samples, rows, rule.group);
  };
  for (size_t i : rule.inputs)
    if (whole.has(i)) plan.inputs.push_back({i, stride(whole.input(i))});
  const std::vector<OutputSpec> specs = op.outputs(whole);
  for (size_t o : rule.outputs) plan.outputs.push_back({o, stride(specs.at(o).type)});
  for (const SampleRule::Sum& sum : rule.sums) {
    const ValueType& type = specs.at(sum.output).type;
    TM_CHECK(type.dtype == DType::f32, "sums over samples are f32");
    plan.sums.push_back({sum.output, sum.accumulator, type.shape.elements(), plan.scratch_bytes});
    if (!sum.accumulator) plan.scratch_bytes += round_up(type.bytes());
  }
  return plan;
}

}  // namespace

int64_t operand_rows(int64_t all, int64_t samples, int64_t rows, int64_t group) {
  if (group == 0 && all % samples == 0) return all / samples * rows;
  if (all == samples) return rows;
  TM_CHECK(group > 0 && all == (samples + group - 1) / group, "an operand has other rows than its samples");
  return (rows + group - 1) / group;
}

SliceCall slice_of(const Op& op, const OpCall& whole, const SampleRule& rule, int64_t rows, bool onto) {
  const int64_t samples = samples_of(whole, rule);
  SliceCall slice;
  for (const auto& [name, value] : whole.attributes.items()) {
    if (name == kRowsOfGroup) continue;
    slice.attributes.set(name, value);
    if (name != rule.shape_attribute) continue;
    std::vector<int64_t> dims = whole.attributes.integers(name);
    dims.at(0) = rows;
    slice.attributes.set(name, std::move(dims));
  }
  slice.types.assign(whole.inputs.begin(), whole.inputs.end());
  for (size_t i : rule.inputs) {
    if (!whole.has(i)) continue;
    std::vector<int64_t> dims = slice.types[i]->shape.dims();
    dims.at(0) = operand_rows(dims.at(0), samples, rows, rule.group);
    slice.types[i]->shape = Shape(std::move(dims));
  }
  if (!onto) return slice;
  const std::vector<OutputSpec> specs = op.outputs(whole);
  for (const SampleRule::Sum& sum : rule.sums) {
    if (!sum.accumulator) continue;
    if (slice.types.size() <= *sum.accumulator) slice.types.resize(*sum.accumulator + 1);
    slice.types[*sum.accumulator] = specs.at(sum.output).type;
  }
  return slice;
}

std::unique_ptr<Kernel> make_sliced_kernel(const Op& op, const KernelEntry& entry, const KernelRequest& request,
                                           const SampleRule& rule, int64_t rows, std::string& why_not) {
  TM_CHECK(rows > 0 && op.outputs(request.call).size() <= kMostOperands, "slices with rows, and not too many outputs");
  if (entry.device != KernelDevice::cpu) {
    why_not = "sums in groups of samples are added up on the CPU alone";
    return nullptr;
  }
  const int64_t samples = samples_of(request.call, rule), rest = samples % rows;
  const auto make = [&](int64_t rows_of_slice) {
    const SliceCall slice = slice_of(op, request.call, rule, rows_of_slice, true);
    TM_CHECK(slice.types.size() <= kMostOperands, "too many operands");
    return entry.make({slice.call(), request.threads}, why_not);
  };
  std::unique_ptr<Kernel> full, last;
  if (samples >= rows && !(full = make(rows))) return nullptr;
  if (rest > 0 && !(last = make(rest))) return nullptr;
  if (!(full ? full : last)->packed_inputs().empty()) {
    why_not = "kernels that pack an input do not run in slices";
    return nullptr;
  }
  return std::make_unique<SlicedKernel>(plan_slices(op, request.call, rule, rows), std::move(full), std::move(last));
}

}  // namespace tidemark::ops
