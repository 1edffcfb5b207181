#include "graph/autodiff.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/backward_pass.h"
#include "graph/fake_ops.h"
#include "graph/text.h"
#include "graph/verifier.h"

namespace tidemark {
namespace {

const ValueType kType{DType::f32, {4}};

class AutodiffTest : public ::testing::Test {
 protected:
  // Parses the forward statements after x (data), p, q (parameters), and the accumulators p_sum and q_sum.
  void forward(const std::string& statements) {
    graph_ = parse_graph(R"(graph "g" {
        external %x : f32[4] input micro_batch
        external %p : f32[4] weights run
        external %q : f32[4] weights run
        external %p_sum : f32[4] gradients step
        external %q_sum : f32[4] gradients step
      )" + statements + "}",
                         ops_);
    forward_nodes_ = graph_.order().size();
  }

  ValueId value(std::string_view name) const { return graph_.find_value(name); }

  void backward(const AutodiffOptions& options = {}) {
    gradients_ = append_backward(graph_, ops_, value("loss"), options);
    EXPECT_NO_THROW(verify(graph_, ops_)) << print(graph_);
  }

  AutodiffOptions accumulate(std::vector<std::string> parameters) const {
    AutodiffOptions options;
    for (const std::string& name : parameters) options.accumulators[value(name)] = value(name + "_sum");
    return options;
  }

  std::string gradient_of(const std::string& parameter) const {
    const auto found = gradients_.of.find(value(parameter));
    return found == gradients_.of.end() ? "none" : graph_.value(found->second).name;
  }

  // "NODE: op(inputs)" of each node after the forward pass.
  std::vector<std::string> backward_nodes() const {
    std::vector<std::string> lines;
    for (size_t i = forward_nodes_; i < graph_.order().size(); ++i) {
      const Node& node = graph_.node(graph_.order()[i]);
      std::string line = node.name + ": " + node.op + "(";
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        line += (k > 0 ? ", " : "") + (node.inputs[k].valid() ? graph_.value(node.inputs[k]).name : "_");
      }
      lines.push_back(line + ")");
    }
    return lines;
  }

  std::string config_error(const AutodiffOptions& options = {}) {
    try {
      append_backward(graph_, ops_, value("loss"), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config);
      return error.what();
    }
    return "no error";
  }

  using Lines = std::vector<std::string>;

  OpTable ops_ = testing::fake_ops();
  Graph graph_;
  Gradients gradients_;
  size_t forward_nodes_ = 0;
};

TEST_F(AutodiffTest, ChainOfTwoLayers) {
  forward(R"(%h = product(%x, %p) "a" %y = product(%h, %q) "b" %l = total(%y) "loss")");
  backward();
  EXPECT_EQ(backward_nodes(), (Lines{"loss/dx: total_grad(b)", "b/dx: product_grad(loss/dx, q, _)",
                                     "b/dw: product_grad(loss/dx, a, _)", "a/dw: product_grad(b/dx, x, _)"}));
  EXPECT_EQ(gradients_.of.size(), 2u);
  EXPECT_EQ(gradient_of("p"), "p/gradient");
  EXPECT_EQ(gradient_of("q"), "q/gradient");
  EXPECT_EQ(graph_.value(value("p/gradient")).category, Category::gradients);
}

TEST_F(AutodiffTest, NothingIsEmittedForDataAndUnusedParts) {
  forward(R"(%a = product(%x, %x) "data" %m, %mm = gate(%q) "aside" %y = product(%a, %p) "b" %l = total(%y) "loss"
             %o = opaque(%y) "metric")");
  backward();
  EXPECT_EQ(backward_nodes(), (Lines{"loss/dx: total_grad(b)", "b/dw: product_grad(loss/dx, data, _)"}));
  EXPECT_EQ(gradient_of("q"), "none");
}

TEST_F(AutodiffTest, LossWithoutParameters) {
  forward(R"(%y = opaque(%x) %l = total(%y) "loss")");
  backward();
  EXPECT_TRUE(gradients_.of.empty());
  EXPECT_TRUE(backward_nodes().empty());
}

TEST_F(AutodiffTest, FanOutAddsInReverseNodeOrder) {
  forward(R"(%h = product(%x, %p) "h" %a, %am = gate(%h) "a" %b, %bm = gate(%h) "b" %c, %cm = gate(%h) "c"
             %ab = add(%a, %b) "ab" %y = add(%ab, %c) "y" %l = total(%y) "loss")");
  backward();
  EXPECT_EQ(backward_nodes(),
            (Lines{"loss/dx: total_grad(y)", "c/dx: gate_grad(loss/dx, c/mask)", "b/dx: gate_grad(loss/dx, b/mask)",
                   "b/add_gradient: add(c/dx, b/dx)", "a/dx: gate_grad(loss/dx, a/mask)",
                   "a/add_gradient: add(b/add_gradient, a/dx)", "h/dw: product_grad(a/add_gradient, x, _)"}));
}

TEST_F(AutodiffTest, TheSecondUseOfAParameterAddsOntoTheFirst) {
  forward(R"(external %t : i32[2] input micro_batch "tokens"
             %e = lookup(%t, %p) {shape=[4]} "embedding" %y = product(%e, %p) "head" %l = total(%y) "loss")");
  backward();
  EXPECT_EQ(backward_nodes(),
            (Lines{"loss/dx: total_grad(head)", "head/dx: product_grad(loss/dx, p, _)",
                   "head/dw: product_grad(loss/dx, embedding, _)", "embedding/dtable: lookup_grad(head/dx, head/dw)"}));
  EXPECT_EQ(gradient_of("p"), "p/gradient");
  EXPECT_EQ(graph_.value(value("p/gradient")).overwrites, value("head/dw"));
  EXPECT_EQ(graph_.value(value("head/dw")).category, Category::gradients);
}

TEST_F(AutodiffTest, ATwiceUsedInputOfOneNodeIsNotOverwrittenByItsOwnRule) {
  forward(R"(%h = product(%p, %p) "square" %l = total(%h) "loss")");
  backward();
  EXPECT_EQ(backward_nodes(),
            (Lines{"loss/dx: total_grad(square)", "square/dx: product_grad(loss/dx, p, _)",
                   "square/dw: product_grad(loss/dx, p, _)", "square/add_gradient: add(square/dx, square/dw)"}));
}

TEST_F(AutodiffTest, AccumulatorsTakeEveryContribution) {
  forward(R"(%h = product(%p, %q) "a" %g, %m = gate(%q) "b" %y = add(%h, %g) "y" %l = total(%y) "loss")");
  backward(accumulate({"p", "q"}));
  EXPECT_EQ(backward_nodes(), (Lines{"loss/dx: total_grad(y)", "b/dx: gate_grad(loss/dx, b/mask)",
                                     "b/add_gradient: add_into(q_sum, b/dx)", "a/dx: product_grad(loss/dx, q, p_sum)",
                                     "a/dw: product_grad(loss/dx, p, b/add_gradient)"}));
  EXPECT_EQ(gradient_of("p"), "a/dx");
  EXPECT_EQ(gradient_of("q"), "a/dw");
  EXPECT_EQ(graph_.storage(gradients_.of.at(value("q"))), value("q_sum"));
  EXPECT_EQ(graph_.value(gradients_.of.at(value("q"))).version, 2);
  EXPECT_EQ(graph_.value(gradients_.of.at(value("q"))).scope, Scope::step);
}

// p is read by three nodes.
constexpr const char* kThreeReaders = R"(
    external %p_sum_2 : f32[4] gradients step
    external %p_sum_3 : f32[4] gradients step
    %a = product(%x, %p) "a" %g, %m = gate(%p) "g" %b = product(%a, %g) "b" %c = product(%b, %p) "c"
    %l = total(%c) "loss")";

TEST_F(AutodiffTest, FurtherAccumulatorsTakeOneReaderEach) {
  forward(kThreeReaders);
  AutodiffOptions options = accumulate({"p"});
  options.further_accumulators[value("p")] = {value("p_sum_2"), value("p_sum_3")};
  backward(options);
  EXPECT_EQ(graph_.value(value("c/dw")).overwrites, value("p_sum"))
      << "the last reader is the first in the backward pass";
  EXPECT_EQ(graph_.value(value("g/add_gradient")).overwrites, value("p_sum_2"));
  EXPECT_EQ(graph_.value(value("a/dw")).overwrites, value("p_sum_3"));
  EXPECT_EQ(gradient_of("p"), "c/dw") << "that of the first accumulator";
}

TEST_F(AutodiffTest, ReadersBeyondTheFurtherAccumulatorsShareTheLast) {
  forward(kThreeReaders);
  AutodiffOptions options = accumulate({"p"});
  options.further_accumulators[value("p")] = {value("p_sum_2")};
  backward(options);
  EXPECT_EQ(graph_.value(value("c/dw")).overwrites, value("p_sum"));
  EXPECT_EQ(graph_.value(value("g/add_gradient")).overwrites, value("p_sum_2"));
  EXPECT_EQ(graph_.value(value("a/dw")).overwrites, value("g/add_gradient"));
}

TEST_F(AutodiffTest, ANodeThatReadsAParameterTwiceKeepsItsAccumulator) {
  forward(R"(external %p_sum_2 : f32[4] gradients step
             %h = product(%p, %p) "square" %y = product(%h, %p) "cube" %l = total(%y) "loss")");
  AutodiffOptions options = accumulate({"p"});
  options.further_accumulators[value("p")] = {value("p_sum_2")};
  backward(options);
  EXPECT_EQ(graph_.value(value("cube/dw")).overwrites, value("p_sum"));
  EXPECT_EQ(graph_.value(value("square/dx")).overwrites, value("p_sum_2"));
  EXPECT_EQ(graph_.storage(value("square/add_gradient")), value("p_sum_2"));
}

TEST_F(AutodiffTest, SumsApartAreAddedUpWhenTheyAreComplete) {
  forward(R"(external %t : i32[2] input micro_batch "tokens"
             %e = lookup(%t, %p) {shape=[4]} "embedding" %y = product(%e, %p) "head" %l = total(%y) "loss")");
  backward({.sums_apart = true});
  EXPECT_EQ(backward_nodes(),
            (Lines{"loss/dx: total_grad(head)", "head/dx: product_grad(loss/dx, p, _)",
                   "head/dw: product_grad(loss/dx, embedding, _)", "embedding/dtable: lookup_grad(head/dx, _)",
                   "embedding/add_gradient: add(head/dw, embedding/dtable)"}));
  EXPECT_EQ(gradient_of("p"), "p/gradient");
}

TEST_F(AutodiffTest, AccumulatorsOfSomeParametersOnly) {
  forward(R"(%h = product(%x, %p) "a" %y = product(%h, %q) "b" %l = total(%y) "loss")");
  backward(accumulate({"q"}));
  EXPECT_EQ(gradient_of("p"), "p/gradient");
  EXPECT_EQ(gradient_of("q"), "b/dw");
  EXPECT_EQ(graph_.value(value("b/dw")).overwrites, value("q_sum"));
}

TEST_F(AutodiffTest, AnAccumulatorWithoutContributionsIsNoGradient) {
  forward(R"(%h = product(%x, %p) "a" %l = total(%h) "loss")");
  backward(accumulate({"p", "q"}));
  EXPECT_EQ(gradient_of("q"), "none");
  EXPECT_EQ(graph_.latest(value("q_sum")), value("q_sum"));
  forward(R"(%h = product(%x, %p) "a" %s = stop(%q) %y = add(%h, %s) "y" %l = total(%y) "loss")");
  backward(accumulate({"p", "q"}));
  EXPECT_EQ(gradient_of("p"), "a/dw");
  EXPECT_EQ(gradient_of("q"), "none");
}

// y = add(h, f) passes dy on to h and f. The branch k of h is processed before f's producer: its contribution to h must
// not be added onto dy in place.
constexpr const char* kResidual = R"(
    %h = product(%x, %p) "h"
    %f = product(%h, %q) "f"
    %k = product(%h, %x) "k"
    %g, %m = gate(%k) "g"
    %y = add(%h, %f) "y"
    %z = add(%y, %g) "z"
    %l = total(%z) "loss")";

TEST_F(AutodiffTest, AGradientHeldByTwoValuesIsNotOverwritten) {
  forward(kResidual);
  backward();
  EXPECT_EQ(backward_nodes(),
            (Lines{"loss/dx: total_grad(z)", "g/dx: gate_grad(loss/dx, g/mask)", "k/dx: product_grad(g/dx, x, _)",
                   "k/add_gradient: add(loss/dx, k/dx)", "f/dx: product_grad(loss/dx, q, k/add_gradient)",
                   "f/dw: product_grad(loss/dx, h, _)", "h/dw: product_grad(f/dx, x, _)"}));
}

TEST_F(AutodiffTest, WithoutTheSafeguardTheVerifierRejectsTheGraph) {
  forward(kResidual);
  BackwardPass(graph_, ops_, value("loss"), {}, /*exclusive_only=*/false).run();
  try {
    verify(graph_, ops_);
    FAIL() << print(graph_);
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "graph 'g': node 'f/dx' (product_grad) reads 'loss/dx' after 'k/dx' has overwritten it");
  }
}

TEST_F(AutodiffTest, TheGradientThatTheRunningRuleReadsIsNotOverwritten) {
  forward(R"(%h = product(%x, %p) "h" %f = product(%h, %q) "f" %y = add(%h, %f) "y" %l = total(%y) "loss")");
  backward();
  EXPECT_EQ(backward_nodes(),
            (Lines{"loss/dx: total_grad(y)", "f/dx: product_grad(loss/dx, q, _)", "f/add_gradient: add(loss/dx, f/dx)",
                   "f/dw: product_grad(loss/dx, h, _)", "h/dw: product_grad(f/add_gradient, x, _)"}));
}

TEST_F(AutodiffTest, ASumIsFreeWhenItsOtherHoldersAreDone) {
  forward(R"(%h = product(%x, %p) "h" %k = product(%h, %x) "k" %g, %m = gate(%k) "g" %f = product(%x, %q) "f"
             %y = add(%h, %f) "y" %z = add(%y, %g) "z" %l = total(%z) "loss")");
  backward();
  EXPECT_EQ(backward_nodes(),
            (Lines{"loss/dx: total_grad(z)", "f/dw: product_grad(loss/dx, x, _)", "g/dx: gate_grad(loss/dx, g/mask)",
                   "k/dx: product_grad(g/dx, x, loss/dx)", "h/dw: product_grad(k/dx, x, _)"}));
}

TEST_F(AutodiffTest, AForwardValueThatServesAsGradientIsNotOverwritten) {
  forward(R"(%h = product(%p, %q) "h" %l = dot(%h, %p) "loss")");
  backward();
  EXPECT_EQ(backward_nodes(),
            (Lines{"h/dx: product_grad(p, q, _)", "h/add_gradient: add(h, h/dx)", "h/dw: product_grad(p, p, _)"}));
  EXPECT_EQ(gradient_of("p"), "p/gradient");
}

TEST_F(AutodiffTest, GradientsThatAreForwardOrSharedValuesKeepTheirNames) {
  forward(R"(%l = dot(%x, %p) "loss")");
  backward();
  EXPECT_EQ(gradient_of("p"), "x");
  EXPECT_EQ(graph_.value(value("x")).category, Category::input);
  forward(R"(%y = add(%p, %q) "y" %l = total(%y) "loss")");
  backward();
  EXPECT_EQ(gradient_of("p"), "p/gradient");
  EXPECT_EQ(gradient_of("q"), "p/gradient");
}

TEST_F(AutodiffTest, AnAbsorbedLossMovesIntoTheBackwardPass) {
  forward(R"(%h = product(%x, %p) "h" %l = fused_loss(%h, %q) "loss" result %l)");
  forward_nodes_ = 1;
  backward();
  EXPECT_EQ(backward_nodes(), (Lines{"loss/grad: fused_loss_grad(h, q, _)", "h/dw: product_grad(loss/grad/dx, x, _)"}));
  const Value& loss = graph_.value(value("loss"));
  EXPECT_EQ(graph_.node(loss.producer).op, "fused_loss_grad");
  EXPECT_EQ(graph_.results(), std::vector<ValueId>{loss.id});
  EXPECT_TRUE(graph_.value(value("loss/replaced")).removed);
  EXPECT_EQ(gradient_of("q"), "q/gradient");
}

TEST_F(AutodiffTest, AnAbsorbedLossAddsOntoAccumulators) {
  forward(R"(%h = product(%x, %q) "h" %l = fused_loss(%h, %q) "loss" result %l)");
  backward(accumulate({"q"}));
  EXPECT_EQ(graph_.value(value("loss/grad/dw")).overwrites, value("q_sum"));
  EXPECT_EQ(graph_.value(gradients_.of.at(value("q"))).overwrites, value("loss/grad/dw"));
}

TEST_F(AutodiffTest, ReadersOfAnAbsorbedLossMoveBehindIt) {
  forward(R"(%a = product(%x, %p) "a" %l1 = fused_loss(%a, %q) "first" %l2 = total(%a) "second"
             %l = add(%l1, %l2) "loss" %o = opaque(%l) "shown" result %o result %l1)");
  backward();
  Lines order;
  for (NodeId id : graph_.order()) order.push_back(graph_.node(id).name);
  EXPECT_EQ(order, (Lines{"a", "second", "second/dx", "first/grad", "loss", "shown", "first/add_gradient", "a/dw"}));
  EXPECT_EQ(graph_.value(graph_.results()[1]).name, "first");
  EXPECT_EQ(gradient_of("p"), "p/gradient");
}

TEST_F(AutodiffTest, ALossUsedTwiceIsRefused) {
  forward(R"(%a = product(%x, %p) "a" %l1 = total(%a) "once" %l = add(%l1, %l1) "loss")");
  EXPECT_EQ(config_error(),
            "loss 'loss' depends on node 'loss' (add): the gradient of 'once' is 1 and more: use a loss for one sum "
            "only, and weight it where it is made");
}

TEST_F(AutodiffTest, ALossThatIsSummandAndFactorIsRefused) {
  forward(R"(external %s : f32[1] weights run %a = product(%x, %p) "a" %l1 = total(%a) "once" %t = dot(%l1, %s) "t"
             %l = add(%t, %l1) "loss")");
  EXPECT_EQ(config_error(),
            "loss 'loss' depends on node 't' (dot): the gradient of 'once' is 1 and more: use a loss for one sum only, "
            "and weight it where it is made");
}

TEST_F(AutodiffTest, APassedOnGradientOfAParameterBecomesAGradientByCategory) {
  forward(R"(%y, %m = gate(%p) "y" %l = total(%y) "loss")");
  backward();
  EXPECT_EQ(graph_.value(value("p/gradient")).category, Category::gradients);
  EXPECT_EQ(graph_.value(value("loss/dx")).category, Category::activations);
}

TEST_F(AutodiffTest, AnOpWithoutGradientIsNamed) {
  forward(R"(%h = product(%x, %p) "layer0/a" %y = opaque(%h) "layer0/b" %l = total(%y) "loss")");
  EXPECT_EQ(config_error(), "loss 'loss' depends on node 'layer0/b' (opaque): op 'opaque' has no gradient");
}

TEST_F(AutodiffTest, ALossInTheMiddleIsRefusedByItsRule) {
  forward(R"(%h = product(%x, %p) "h" %a = total(%h) "inner" %l = total(%a) "loss")");
  EXPECT_EQ(config_error(), "loss 'loss' depends on node 'inner' (total): the output is not the loss");
}

TEST_F(AutodiffTest, LossAndAccumulatorsAreChecked) {
  forward(R"(%l = product(%x, %p) "loss")");
  EXPECT_EQ(config_error(), "loss 'loss' is f32[4]; it must be f32[1]");
  forward(R"(external %short : f32[2] gradients step %h = product(%x, %p) "h" %l = total(%h) "loss")");
  AutodiffOptions options;
  options.accumulators[value("p")] = value("short");
  EXPECT_EQ(config_error(options),
            "accumulator 'short' (f32[2]) of parameter 'p' must be an external value of type f32[4]");
  forward(R"(external %s : f32[1] weights run "scale" %h = product(%x, %p) %a = total(%h) %l = add(%a, %s) "loss")");
  EXPECT_EQ(config_error(), "parameter 'scale' is a summand of the loss itself: its gradient is 1 and has no value");
}

}  // namespace
}  // namespace tidemark
