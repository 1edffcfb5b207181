#include "ops/sliced_kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "graph/sample_groups.h"
#include "ops/testing/kernel_run.h"

namespace tidemark::ops {
namespace {

using testing::KernelCall;
using testing::run_kernel;
using testing::RunResult;

// tally(x [B], acc? [1]) {x_shape} -> y [B] = x + 1, total [1] = acc + the sum of x, rows [1] = B.
class TallyOp : public Op {
 public:
  std::string_view name() const override { return "tally"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const ValueType one{DType::f32, {1}};
    return {
        {.type = call.input(0)}, {.type = one, .suffix = "total", .overwrites = 1}, {.type = one, .suffix = "rows"}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0}, .outputs = {0}, .sums = {{1, 1}, {2, std::nullopt}}, .shape_attribute = "x_shape"};
  }
  Cost cost(const OpCall&) const override { return {}; }
};

// Sums its rows in f32 in the workspace, then adds that onto the accumulator.
class TallyKernel : public Kernel {
 public:
  TallyKernel(int64_t rows, bool has_acc, bool packs) : rows_(rows), has_acc_(has_acc), packs_(packs) {}

  int64_t workspace_bytes() const override { return rows_ * static_cast<int64_t>(sizeof(float)); }
  std::vector<PackedInput> packed_inputs() const override {
    return packs_ ? std::vector<PackedInput>{{.input = 0, .bytes = 4}} : std::vector<PackedInput>{};
  }
  bool can_be_refused() const override { return rows_ == 2; }

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    float* running = reinterpret_cast<float*>(args.workspace);
    for (int64_t i = 0; i < rows_; ++i) {
      running[i] = i == 0 ? x[0] : running[i - 1] + x[i];
      static_cast<float*>(args.outputs[0])[i] = x[i] + 1;
    }
    const float sum = running[rows_ - 1];
    *static_cast<float*>(args.outputs[1]) = has_acc_ ? *static_cast<const float*>(args.inputs[1]) + sum : sum;
    *static_cast<float*>(args.outputs[2]) = static_cast<float>(rows_);
  }

 private:
  const int64_t rows_;
  const bool has_acc_, packs_;
};

std::unique_ptr<Kernel> make_tally(const KernelRequest& request, std::string&) {
  return std::make_unique<TallyKernel>(request.call.input(0).shape.dim(0), request.call.has(1), false);
}

std::unique_ptr<Kernel> make_packing(const KernelRequest& request, std::string&) {
  return std::make_unique<TallyKernel>(request.call.input(0).shape.dim(0), request.call.has(1), true);
}

std::unique_ptr<Kernel> make_of_three(const KernelRequest& request, std::string& why_not) {
  if (request.call.input(0).shape.dim(0) == 3) return make_tally(request, why_not);
  why_not = "three rows only";
  return nullptr;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

const TallyOp kTally;

KernelCall tally_call(const std::vector<float>& x, std::optional<float> acc) {
  const int64_t rows = static_cast<int64_t>(x.size());
  KernelCall call{&kTally, {{"x_shape", std::vector<int64_t>{rows}}}, {ValueType{DType::f32, {rows}}}, {bytes_of(x)}};
  if (!acc) return call;
  call.types.push_back(ValueType{DType::f32, {1}});
  call.inputs.push_back(bytes_of({*acc}));
  return call;
}

std::unique_ptr<Kernel> make_sliced(const KernelCall& call, int64_t rows, std::string& why_not,
                                    KernelEntry entry = {"cpu:tally", KernelDevice::cpu, make_tally}) {
  return make_sliced_kernel(kTally, entry, {call.op_call(), 1}, *kTally.samples(call.op_call()), rows, why_not);
}

std::vector<std::vector<float>> run_sliced(const std::vector<float>& x, int64_t rows,
                                           std::optional<float> acc = std::nullopt) {
  const KernelCall call = tally_call(x, acc);
  std::string why_not;
  const RunResult result = run_kernel(*make_sliced(call, rows, why_not), call, {});
  EXPECT_TRUE(result.faults.empty()) << result.faults.front();
  std::vector<std::vector<float>> outputs;
  for (const std::vector<std::byte>& output : result.outputs) outputs.push_back(floats_of(output));
  return outputs;
}

// 2^24 and 1 make 2^24 in f32, so every order of these has its own sum.
const std::vector<float> kX = {0x1p24F, 1, 1, -0x1p24F, 1, 0x1p24F, 3};

TEST(SlicedKernel, SumsGroupByGroupAndCutsTheRest) {
  const auto outputs = run_sliced(kX, 3);
  std::vector<float> y;
  for (float x : kX) y.push_back(x + 1);
  EXPECT_EQ(outputs[0], y);
  const float first = (0x1p24F + 1) + 1, second = (-0x1p24F + 1) + 0x1p24F;
  EXPECT_EQ(outputs[1], std::vector<float>{(first + second) + 3.0F});
  EXPECT_EQ(outputs[2], std::vector<float>{7}) << "a sum without an accumulator: 3 + 3 + 1";
}

TEST(SlicedKernel, GoesOnFromTheAccumulator) {
  EXPECT_EQ(run_sliced({1, 1, 1, 1}, 1, 0x1p24F)[1], std::vector<float>{0x1p24F}) << "one by one";
  EXPECT_EQ(run_sliced({1, 1, 1, 1}, 2, 0x1p24F)[1], std::vector<float>{0x1p24F + 4}) << "two by two";
}

// 0 + -0 is 0, and -0 alone is -0: a call of one slice, full or not, must not be told from one that goes on.
TEST(SlicedKernel, ACallOfOneSliceBeginsAtZeroToo) {
  for (const int64_t rows : {1, 2, 3}) {
    const std::vector<float> total = run_sliced({-0.0F, -0.0F}, rows)[1];
    EXPECT_EQ(std::bit_cast<uint32_t>(total[0]), 0u) << rows << " rows a slice";
  }
}

TEST(SlicedKernel, HasRoomForTheLargestSliceAndTheSumsWithoutAccumulator) {
  const KernelCall seven = tally_call(kX, std::nullopt), two = tally_call({1, 2}, std::nullopt);
  std::string why_not;
  EXPECT_EQ(make_sliced(seven, 3, why_not)->workspace_bytes(), 64 + 3 * 4);
  EXPECT_EQ(make_sliced(two, 3, why_not)->workspace_bytes(), 64 + 2 * 4);
  EXPECT_FALSE(make_sliced(seven, 3, why_not)->can_be_refused());
  EXPECT_TRUE(make_sliced(seven, 5, why_not)->can_be_refused()) << "the rest has two rows";
}

TEST(SlicedKernel, RefusesWhatTheEntryDoesNotTake) {
  const KernelCall seven = tally_call(kX, std::nullopt), six = tally_call({1, 2, 3, 4, 5, 6}, std::nullopt);
  const auto why = [](const KernelCall& call, int64_t rows, const KernelEntry& entry) {
    std::string why_not;
    const bool is_refused = make_sliced(call, rows, why_not, entry) == nullptr;
    EXPECT_EQ(is_refused, !why_not.empty());
    return why_not;
  };
  const KernelEntry of_three{"cpu:of_three", KernelDevice::cpu, make_of_three};
  EXPECT_EQ(why(six, 3, of_three), "");
  EXPECT_EQ(why(six, 2, of_three), "three rows only");
  EXPECT_EQ(why(seven, 3, of_three), "three rows only") << "the rest has one";
  EXPECT_EQ(why(six, 3, {"cuda:tally", KernelDevice::cuda, make_tally}),
            "sums in groups of samples are added up on the CPU alone");
  EXPECT_EQ(why(six, 3, {"cpu:packing", KernelDevice::cpu, make_packing}),
            "kernels that pack an input do not run in slices");
}

TEST(SliceOf, HasItsRowsAndTheAccumulators) {
  KernelCall call = tally_call(kX, std::nullopt);
  call.attributes.set(std::string(kRowsOfGroup), int64_t{3});
  const SampleRule rule = *kTally.samples(call.op_call());
  const SliceCall slice = slice_of(kTally, call.op_call(), rule, 3, true);
  EXPECT_EQ(slice.attributes, (Attributes{{"x_shape", std::vector<int64_t>{3}}})) << "a slice is not cut again";
  ASSERT_EQ(slice.types.size(), 2u);
  EXPECT_EQ(*slice.types[0], (ValueType{DType::f32, {3}}));
  EXPECT_EQ(*slice.types[1], (ValueType{DType::f32, {1}}));
  EXPECT_FALSE(slice_of(kTally, call.op_call(), rule, 3, false).call().has(1));
}

TEST(SliceOf, OperandsHaveRowsForSamplesOrGroups) {
  EXPECT_EQ(operand_rows(7, 7, 3, 0), 3);
  EXPECT_EQ(operand_rows(28, 7, 3, 0), 12) << "four rows a sample";
  EXPECT_EQ(operand_rows(7, 7, 4, 2), 4);
  EXPECT_EQ(operand_rows(4, 7, 4, 2), 2) << "a row for two samples";
  EXPECT_EQ(operand_rows(4, 7, 3, 2), 2) << "the last two groups, of two samples and of one";
}

}  // namespace
}  // namespace tidemark::ops
