// One case struct per op test: agreement with a double-precision reference, finite differences, declared cost and
// sharing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/op_definition.h"

namespace tidemark::ops::testing {

// A tensor of doubles for references; integers are held exactly.
struct Reference {
  ValueType type;
  std::vector<double> data;
};

struct InputSpec {
  ValueType type;  // f32 inputs: filled from a seeded normal unless `values` is given
  double mean = 0.0, stddev = 1.0;
  int64_t low = 0, high = 1;   // i32 inputs: uniform in [low, high)
  std::vector<double> values;  // explicit values, optional
  bool absent = false;         // an absent optional input
  bool differentiable = true;  // f32 inputs that the gradient check perturbs
};

struct OpCase {
  std::string name;
  std::string op;
  Attributes attributes;
  std::vector<InputSpec> inputs;
  // Outputs in double from inputs in double. Required.
  std::function<std::vector<Reference>(const Attributes&, const std::vector<Reference>&)> reference;
  double tolerance = 1e-5;     // |got - want| <= tolerance * (1 + |want|) for every element
  bool check_gradient = true;  // builds loss = weighted sum of the outputs, or the op's own loss where it is one,
                               // and compares append_backward with central differences of `reference` in double
  bool is_loss = false;        // output 0 is itself the loss; for such ops nothing is summed
  std::vector<size_t> gradient_outputs = {0};  // the outputs that the weighted sum takes: those with a gradient
  double gradient_tolerance = 2e-3;            // |got - want| <= tolerance * (max(1e-3, rms of want) + |want|)
  std::optional<double> flops;  // expected declared cost; bytes are checked against the operands by default
  std::optional<int64_t> bytes_read, bytes_written;  // where an op reads or writes less than its operands
  std::vector<int> threads = {1, 2};
};

// Runs the case on every CPU kernel of the op's list (each entry, not only the first), with every thread count, with
// outputs at fresh addresses and sharing bytes wherever OutputSpec allows, workspace and outputs poisoned with NaN and
// guard bytes around; checks results, bit-equality over repeated runs and addresses, absence of writes outside, and
// that the parts of a SplitRule give the same bits (their ops must be in `ops`), and slices of samples what the
// SampleRule says (sample_check.h). Prints the seed. The gradient is checked fresh, added onto accumulators, with every
// input used once more elsewhere, and for each input alone.
void check_op_case(const OpSet& ops, const OpCase& op_case);

// The same, as a list of what is wrong: empty if nothing is. check_op_case makes each a test failure.
std::vector<std::string> op_case_faults(const OpSet& ops, const OpCase& op_case);

}  // namespace tidemark::ops::testing
