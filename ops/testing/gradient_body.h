// The graph of one gradient check: built, differentiated and run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/testing/op_case.h"

namespace tidemark::ops::testing {

// What all variants of one case's check share.
struct GradientProblem {
  const OpCase& op_case;
  const std::vector<Reference>& inputs;   // rounded to their dtypes
  const std::vector<Reference>& outputs;  // what the reference gives for them
  std::vector<Reference> output_weights;  // by output: its weights in the loss
  std::vector<Reference> use_weights;     // by input: the weights of its second use
  std::vector<Reference> accumulators;    // by input: what an accumulator holds before
};

// One way to ask for gradients; all must give the same, up to what they add to it.
struct GradientVariant {
  std::string name;
  std::vector<size_t> parameters;  // inputs whose gradient is asked for; the others are plain inputs
  bool accumulate = false;         // onto external accumulators
  bool use_twice = false;  // parameters also enter the loss directly: a partial sum exists before the op's rule runs
  int threads = 1;
};

struct GradientOutcome {
  std::map<size_t, std::vector<double>> gradients;  // by input; absent: the loss was said not to depend on it
  double loss = 0;
};

// `ops` holds the op, what its gradient needs, and weighted_sum. Throws what append_backward() and run_graph() throw.
GradientOutcome run_gradient_body(const OpSet& ops, const GradientProblem& problem, const GradientVariant& variant);

}  // namespace tidemark::ops::testing
