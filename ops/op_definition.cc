#include "ops/op_definition.h"

#include <algorithm>

#include "base/error.h"
#include "graph/sample_groups.h"
#include "ops/sliced_kernel.h"

namespace tidemark::ops {
namespace {

std::string_view to_string(KernelDevice device) { return device == KernelDevice::cpu ? "cpu" : "cuda"; }

std::string describe(std::string_view op, const OpCall& call) {
  std::string text = std::string(op) + "(";
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    text += (i ? ", " : "") + (call.has(i) ? tidemark::to_string(*call.inputs[i]) : std::string("-"));
  }
  return text + ")";
}

// The kernel of an entry. Where the node has samples in groups, which kernel it is must not hang on how many there are:
// sums are made group by group, and where there are other entries, this one must take a group alone.
std::unique_ptr<Kernel> make_kernel(const Op& op, const KernelEntry& entry, bool has_others,
                                    const KernelRequest& request, std::string& why_not) {
  const int64_t rows = request.call.attributes.integer_or(kRowsOfGroup, 0);
  const std::optional<SampleRule> rule = rows > 0 ? op.samples(request.call) : std::nullopt;
  if (!rule) return entry.make(request, why_not);
  if (has_others) {
    const SliceCall group = slice_of(op, request.call, *rule, rows, true);
    if (!entry.make({group.call(), request.threads}, why_not)) return nullptr;
  }
  return rule->sums.empty() ? entry.make(request, why_not)
                            : make_sliced_kernel(op, entry, request, *rule, rows, why_not);
}

Error no_kernel(std::string_view op, KernelDevice device, const OpCall& call,
                const std::vector<KernelRefusal>& refused) {
  std::string text = "no kernel of device " + std::string(to_string(device)) + " takes " + describe(op, call);
  if (refused.empty()) text += ": the op has none for that device";
  for (const KernelRefusal& refusal : refused) text += "; " + refusal.kernel + ": " + refusal.why;
  return Error(ErrorCode::config, text);
}

}  // namespace

void OpSet::add(OpDefinition definition) {
  const std::string name(definition.op->name());
  table_.add(std::move(definition.op));
  kernels_[name] = std::move(definition.kernels);
  splits_[name] = definition.split;
}

const std::vector<KernelEntry>& OpSet::kernels(std::string_view op) const {
  table_.find(op);  // an unknown op is refused there, with the nearest name
  return kernels_.find(op)->second;
}

std::vector<NodePart> OpSet::split(std::string_view op, const OpCall& call) const {
  table_.find(op);
  const SplitRule rule = splits_.find(op)->second;
  return rule == nullptr ? std::vector<NodePart>() : rule(call);
}

KernelChoice OpSet::choose_kernel(std::string_view op, KernelDevice device, const KernelRequest& request) const {
  KernelChoice choice;
  const std::vector<KernelEntry>& entries = kernels(op);
  const bool are_several = std::ranges::count(entries, device, &KernelEntry::device) > 1;
  for (const KernelEntry& entry : entries) {
    if (entry.device != device) continue;
    std::string why_not;
    choice.kernel = make_kernel(table_.find(op), entry, are_several, request, why_not);
    if (choice.kernel) {
      choice.name = entry.name;
      return choice;
    }
    choice.refused.push_back({entry.name, why_not});
  }
  throw no_kernel(op, device, request.call, choice.refused);
}

}  // namespace tidemark::ops
