// Kernels that run group by group: Note [Sums of groups] in graph/sample_groups.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops {

// Of an operand with `all` rows, those of the first `rows` of `samples` rows: as many, a multiple, or, with groups of
// samples that belong together, one for each.
int64_t operand_rows(int64_t all, int64_t samples, int64_t rows, int64_t group);

// A call on `rows` of the samples' rows, in the form that OpCall takes (storage for it).
struct SliceCall {
  Attributes attributes;
  std::vector<std::optional<ValueType>> types;

  OpCall call() const { return {attributes, types}; }
};

// `onto`: its sums are added onto accumulators where the op can do that, whether the whole call's are or not.
SliceCall slice_of(const Op& op, const OpCall& whole, const SampleRule& rule, int64_t rows, bool onto);

// Runs consecutive slices of `rows` rows, the last perhaps smaller, one after the other, on a kernel of `entry` for
// each size. Sums are made onto accumulators always, from zero where the call has none: so a call of one slice, too, is
// the same as one onto zeros. nullptr with the reason where `entry` does not take a slice.
std::unique_ptr<Kernel> make_sliced_kernel(const Op& op, const KernelEntry& entry, const KernelRequest& request,
                                           const SampleRule& rule, int64_t rows, std::string& why_not);

}  // namespace tidemark::ops
