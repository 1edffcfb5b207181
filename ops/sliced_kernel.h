// Kernels that run group by group: Note [Sums of groups] in graph/sample_groups.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops {

// A call on `rows` of the samples' rows, in the form that OpCall takes (storage for it). `onto`: the sums are added
// onto accumulators, whether the whole call had them or not.
struct SliceCall {
  Attributes attributes;
  std::vector<std::optional<ValueType>> types;

  OpCall call() const { return {attributes, types}; }
};
SliceCall slice_of(const Op& op, const OpCall& whole, const SampleRule& rule, int64_t rows, bool onto);

// A kernel of `entry` for each size of slice, run one after the other over consecutive slices of `rows` rows; what they
// sum is added up in their order. nullptr with the reason where `entry` does not take a slice.
std::unique_ptr<Kernel> make_sliced_kernel(const Op& op, const KernelEntry& entry, const KernelRequest& request,
                                           const SampleRule& rule, int64_t rows, std::string& why_not);

}  // namespace tidemark::ops
