// Sums over samples that do not hang on how many samples run at once.
//
// Note [Sums of groups]
// A gradient is a sum over the samples of a batch, and float sums depend on their order. Where a body may run on fewer
// samples at a time (a smaller micro-batch, to need less memory), its sums are therefore made group by group always:
// each group of consecutive samples is summed by the same kernel, and added onto the sum of those before it. Then
// losses, gradients and parameters have the same bits with every micro-batch that is a multiple of the group.
#pragma once

#include <string_view>

#include "graph/op.h"

namespace tidemark {

// On nodes with samples: the rows of one group (SampleRule). Kernels are chosen for so many, and sums made of them.
inline constexpr std::string_view kRowsOfGroup = "rows_of_group";

// Samples are what depends on external values of Scope::micro_batch. Has every node that sums over the `samples` of
// this body do so in groups of `group` samples, the last perhaps smaller, and every other node with samples run on a
// kernel that takes such a group. Where an op has no SampleRule or sums over groups of its own that are others, or
// where a sum goes on from another node's (AutodiffOptions::further_accumulators), the body's bits hang on the number
// of its samples: then the graph stays as it is, and the first such node is returned, else an invalid id.
NodeId sum_in_groups(Graph& graph, const OpTable& ops, int64_t samples, int64_t group);

}  // namespace tidemark
