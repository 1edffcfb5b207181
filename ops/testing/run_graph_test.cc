#include "ops/testing/run_graph.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "graph/builder.h"
#include "ops/add/add.h"
#include "ops/op_rules.h"

namespace tidemark::ops::testing {
namespace {

// careless(x) -> a copy of x and four bytes more.
class CarelessOp : public Op {
 public:
  std::string_view name() const override { return "careless"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override { return {{.type = call.input(0)}}; }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, 0); }
};

class CarelessKernel : public Kernel {
 public:
  explicit CarelessKernel(int64_t bytes) : bytes_(bytes) {}
  void run(const KernelArgs& args) const override { std::memset(args.outputs[0], 0, static_cast<size_t>(bytes_ + 4)); }

 private:
  const int64_t bytes_;
};

std::unique_ptr<Kernel> make_careless(const KernelRequest& request, std::string&) {
  return std::make_unique<CarelessKernel>(request.call.input(0).bytes());
}

class RunGraph : public ::testing::Test {
 protected:
  RunGraph() {
    ops_.add(add_op());
    ops_.add(add_into_op());
    ops_.add({std::make_unique<CarelessOp>(), {{"cpu:careless", KernelDevice::cpu, make_careless}}});
    x_ = builder_.external("x", kType, Category::input, Scope::micro_batch);
    sum_ = builder_.external("sum", kType, Category::gradients, Scope::step);
  }

  static std::vector<std::byte> bytes(std::vector<float> values) {
    std::vector<std::byte> out(4 * values.size());
    std::memcpy(out.data(), values.data(), out.size());
    return out;
  }

  std::string error(const ValueBytes& externals) const {
    try {
      run_graph(graph_, ops_, externals);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::data);
      return e.what();
    }
    return "none";
  }

  const ValueType kType{DType::f32, {3}};
  OpSet ops_;
  Graph graph_{"small"};
  Builder builder_{graph_, ops_.table()};
  ValueId x_, sum_;
};

TEST_F(RunGraph, GivesEveryValueAndEveryVersion) {
  const ValueId y = builder_.op("add", "y", {x_, x_});
  const ValueId once = builder_.op("add_into", "once", {sum_, y});
  const ValueId twice = builder_.op("add_into", "twice", {once, y});
  builder_.result(twice);
  const ValueBytes values = run_graph(graph_, ops_, {{x_, bytes({1, 2, 3})}, {sum_, bytes({10, 20, 30})}}, 2);
  EXPECT_EQ(values.at(sum_), bytes({10, 20, 30}));
  EXPECT_EQ(values.at(y), bytes({2, 4, 6}));
  EXPECT_EQ(values.at(once), bytes({12, 24, 36}));
  EXPECT_EQ(values.at(twice), bytes({14, 28, 42}));
}

TEST_F(RunGraph, NamesAValueWithoutBytes) {
  builder_.result(builder_.op("add", "y", {x_, sum_}));
  EXPECT_EQ(error({{x_, bytes({1, 2, 3})}}), "node 'y' reads 'sum', which has no bytes");
}

TEST_F(RunGraph, NamesTheNodeThatWritesOutside) {
  builder_.result(builder_.op("careless", "c", {x_}));
  EXPECT_EQ(error({{x_, bytes({1, 2, 3})}}), "node 'c', c: byte 0 past its end was overwritten");
}

}  // namespace
}  // namespace tidemark::ops::testing
