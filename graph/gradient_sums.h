// The gradients collected so far while a backward pass is written, and who may overwrite them.
#pragma once

#include <map>

#include "graph/graph.h"

namespace tidemark {

// Note [Exclusive sums]
//
// A rule may add onto the sum that exists for x (GradientContext::accumulator) only if that destroys nothing that
// somebody still reads. One value can be the gradient of several: the rule of y = add(x, f) passes dy on to both. If
// another user of x is processed before f's producer, adding its contribution onto dy in place would also change the
// gradient of f.
//
// So each forward value with a gradient holds the storage of that gradient, from the first contribution until the rule
// of its producer has run (parameters: to the end), and a sum is exclusive if
//   - it is written by the backward pass or is an external accumulator: a rule may pass on a forward value as it
//     stands, and others read that,
//   - x alone holds its storage (the outputs of the node whose rule is running hold theirs until the rule returns),
//   - the running rule has not contributed to x itself: it may still read what it passed on.
class GradientSums {
 public:
  // Values added to the graph from now on are the backward pass's own. exclusive_only = false: no safeguard, for tests.
  explicit GradientSums(const Graph& graph, bool exclusive_only)
      : graph_(graph), first_backward_value_(graph.values().size()), exclusive_only_(exclusive_only) {}

  // Lets the sum for `of` start with an external value.
  void start_with(ValueId of, ValueId accumulator);
  // The gradient of `of` is the constant 1, without a value. Error(config) if it has another contribution.
  void set_one(ValueId of);
  // The sum for `of` is now `sum`, by the rule of `contributor`.
  void set(ValueId of, ValueId sum, NodeId contributor);
  // The producer's rule has read the gradient of `of`.
  void release(ValueId of);

  bool has(ValueId of) const { return sums_.count(of) > 0; }
  bool is_one(ValueId of) const;
  // Invalid if there is none (yet), or if it is the constant 1.
  ValueId sum(ValueId of) const;
  bool on_accumulator(ValueId of) const;
  // Whether anything was added onto the external accumulator, or any other sum exists.
  bool contributed(ValueId of) const;
  bool is_contributor(ValueId of, NodeId node) const;
  bool may_overwrite(ValueId of, NodeId contributor) const;
  bool is_backward_value(ValueId value) const { return value.index() >= first_backward_value_; }

 private:
  struct Sum {
    ValueId value;  // invalid: the constant 1
    NodeId contributor;
    bool on_accumulator = false;
  };

  const Sum* find(ValueId of) const;

  const Graph& graph_;
  size_t first_backward_value_;
  bool exclusive_only_;
  std::map<ValueId, Sum> sums_;     // by forward value
  std::map<ValueId, int> holders_;  // by storage
};

}  // namespace tidemark
