#include "graph/verifier.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/builder.h"
#include "graph/fake_ops.h"

namespace tidemark {
namespace {

const ValueType kType{DType::f32, {2, 3}};

// A small sound graph, which each test breaks in one way: y = gate(w), then w1 = update(w, y).
class VerifierTest : public ::testing::Test {
 protected:
  void expect_rejected(const std::string& why) {
    try {
      verify(graph_, ops_);
      ADD_FAILURE() << "accepted, but should be rejected: " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config);
      EXPECT_EQ(std::string(error.what()), "graph 'net': " + why);
    }
  }
  NodeId producer(ValueId id) { return graph_.value(id).producer; }

  OpTable ops_ = testing::fake_ops();
  Graph graph_{"net"};
  Builder builder_{graph_, ops_};
  ValueId w_ = builder_.parameter("w", kType);
  ValueId y_ = builder_.op("gate", "gate", {w_});
  ValueId mask_ = graph_.find_value("gate/mask");
  ValueId w1_ = builder_.op("update", "update", {w_, y_});
};

TEST_F(VerifierTest, AcceptsTheSoundGraph) {
  builder_.result(w1_);
  builder_.result(y_);
  EXPECT_NO_THROW(verify(graph_, ops_));
}

TEST_F(VerifierTest, ReadOfAnOverwrittenVersion) {
  builder_.op("opaque", "late", {w_});
  expect_rejected("node 'late' (opaque) reads 'w' after 'update' has overwritten it");
}

TEST_F(VerifierTest, ReorderedReaderOfAnOverwrittenVersion) {
  const ValueId z = builder_.external("z", kType, Category::gradients, Scope::step);
  graph_.replace_input(producer(w1_), 1, z);
  graph_.set_order({producer(w1_), producer(y_)});
  expect_rejected("node 'gate' (gate) reads 'w' after 'update' has overwritten it");
}

TEST_F(VerifierTest, SecondOverwriteOfTheSameVersion) {
  builder_.op("update", "again", {w_, y_});
  expect_rejected("node 'again' (update) reads 'w' after 'update' has overwritten it");
}

TEST_F(VerifierTest, TwoOutputsOverOneValue) {
  class Doubled : public Op {
   public:
    std::string_view name() const override { return "doubled"; }
    std::vector<OutputSpec> outputs(const OpCall& call) const override {
      return {{.type = call.input(0), .overwrites = 0}, {.type = call.input(0), .suffix = "b", .overwrites = 0}};
    }
    Cost cost(const OpCall&) const override { return {}; }
  };
  ops_.add(std::make_unique<Doubled>());
  builder_.node("doubled", "d", {w1_});
  expect_rejected("node 'd' (doubled) overwrites 'update' twice, with 'd' and 'd/b'");
}

TEST_F(VerifierTest, OverwriteOfAValueReadTwice) {
  builder_.op("update", "self", {w1_, w1_});
  expect_rejected("node 'self' (update) overwrites 'update' and also reads it through another input");
}

TEST_F(VerifierTest, InputBeforeItIsProduced) {
  graph_.set_order({producer(w1_), producer(y_)});
  expect_rejected("node 'update' (update) reads 'gate' before it is produced");
}

TEST_F(VerifierTest, InputThatNobodyProduces) {
  graph_.remove_node(producer(y_));
  expect_rejected("node 'update' (update) reads 'gate' before it is produced");
}

TEST_F(VerifierTest, RecordedTypeIsNotTheOps) {
  graph_.mutable_value(mask_).type.dtype = DType::i32;
  expect_rejected("node 'gate' (gate) gives 'gate/mask' the type u8[2,3]; recorded is i32[2,3]");
}

TEST_F(VerifierTest, OpRefusesItsInputs) {
  graph_.replace_input(producer(w1_), 1, mask_);
  expect_rejected("node 'update' (update) is refused: input 1 is u8[2,3], not f32[2,3]");
}

TEST_F(VerifierTest, UnknownOp) {
  graph_.mutable_node(producer(y_)).op = "gote";
  expect_rejected("node 'gate' (gote) is refused: unknown op 'gote'; the nearest is 'gate'");
}

TEST_F(VerifierTest, WrongNumberOfOutputs) {
  graph_.mutable_node(producer(y_)).outputs.pop_back();
  expect_rejected("node 'gate' (gate) has 1 outputs; its op gives 2");
}

TEST_F(VerifierTest, OutputOfAnotherNode) {
  graph_.mutable_value(mask_).producer = producer(w1_);
  expect_rejected("node 'gate' (gate) lists 'gate/mask', which is not its output");
}

TEST_F(VerifierTest, ByteCountsDiffer) {
  builder_.op("overwrite_as", "shrink", {w1_}, {{"dims", std::vector<int64_t>{2, 2}}});
  expect_rejected("node 'shrink' (overwrite_as) writes 'shrink' over 'update': 16 bytes over 24");
}

TEST_F(VerifierTest, SameBytesInAnotherShapeAreFine) {
  builder_.op("overwrite_as", "reshape", {w1_}, {{"dims", std::vector<int64_t>{6}}});
  EXPECT_NO_THROW(verify(graph_, ops_));
}

TEST_F(VerifierTest, MissingOverwrite) {
  graph_.mutable_value(w1_).overwrites = ValueId();
  expect_rejected("node 'update' (update) makes 'update' overwrite 'w'; recorded is nothing");
}

TEST_F(VerifierTest, OverwriteThatTheOpDoesNotKnow) {
  graph_.mutable_value(mask_).overwrites = w_;
  expect_rejected("node 'gate' (gate) makes 'gate/mask' overwrite nothing; recorded is 'w'");
}

TEST_F(VerifierTest, VersionsChangeNeitherScopeNorCategoryNorSkip) {
  const std::string why =
      "node 'update' (update) writes 'update' over 'w': version, scope or category do not continue it";
  const Value sound = graph_.value(w1_);
  graph_.mutable_value(w1_).scope = Scope::step;
  expect_rejected(why);
  graph_.mutable_value(w1_) = sound;
  graph_.mutable_value(w1_).category = Category::gradients;
  expect_rejected(why);
  graph_.mutable_value(w1_) = sound;
  graph_.mutable_value(w1_).version = 3;
  expect_rejected(why);
}

TEST_F(VerifierTest, ResultIsNotTheLatestVersion) {
  builder_.result(w_);
  expect_rejected("result 'w' is overwritten by 'update' before the end");
}

TEST_F(VerifierTest, ResultIsNotProduced) {
  builder_.result(w1_);
  graph_.remove_node(producer(w1_));
  expect_rejected("result 'update' is not produced");
}

TEST_F(VerifierTest, EmptyTypes) {
  builder_.parameter("empty", {DType::f32, {2, 0}});
  expect_rejected("value 'empty' has the empty type f32[2,0]");
}

TEST_F(VerifierTest, ExternalVersionsAreRefused) {
  Value value;
  value.name = "w_again";
  value.type = kType;
  value.overwrites = w_;
  graph_.add_value(value);
  expect_rejected("value 'w_again' overwrites another, but no node produces it");
}

}  // namespace
}  // namespace tidemark
