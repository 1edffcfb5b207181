#include "ops/testing/sample_check.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "ops/sliced_kernel.h"

namespace tidemark::ops::testing {
namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& to, const Bytes& from) { to.insert(to.end(), from.begin(), from.end()); }

void add_floats(Bytes& to, const Bytes& from) {
  for (size_t at = 0; at < to.size(); at += sizeof(float)) {
    float sum = 0, term = 0;
    std::memcpy(&sum, to.data() + at, sizeof(float));
    std::memcpy(&term, from.data() + at, sizeof(float));
    sum += term;
    std::memcpy(to.data() + at, &sum, sizeof(float));
  }
}

class SampleCheck {
 public:
  SampleCheck(const KernelEntry& entry, const KernelCall& call, const std::vector<Bytes>& whole, int threads)
      : entry_(entry), call_(call), whole_(whole), threads_(threads), rule_(call.op->samples(call.op_call())) {}

  std::vector<std::string> run() {
    if (!rule_ || rule_->inputs.empty() || !names_operands_once()) return faults_;
    samples_ = call_.op_call().input(rule_->inputs.front()).shape.dim(0);
    const int64_t unit = std::max<int64_t>(1, rule_->group);
    const int64_t half = (samples_ / 2 + unit - 1) / unit * unit;
    for (const int64_t rows : std::set<int64_t>{unit, half, half + unit})
      if (rows > 0 && rows < samples_) check_slices(rows);
    return faults_;
  }

 private:
  void fault(const std::string& text) { faults_.push_back("samples: " + text); }

  bool names_operands_once() {
    for (size_t i : rule_->inputs)
      if (i >= kMostInputs) fault("the rule names input " + std::to_string(i));
    std::vector<size_t> outputs = rule_->outputs;
    for (const SampleRule::Sum& sum : rule_->sums) outputs.push_back(sum.output);
    std::ranges::sort(outputs);
    std::vector<size_t> wanted(whole_.size());
    for (size_t o = 0; o < wanted.size(); ++o) wanted[o] = o;
    if (outputs != wanted) fault("the rule does not name every output once");
    if (!call_.op_call().has(rule_->inputs.front())) fault("the first input with samples is absent");
    return faults_.empty();
  }

  void check_slices(int64_t rows) {
    const std::string where = std::to_string(rows) + " of " + std::to_string(samples_) + " at once: ";
    std::vector<Bytes> sliced(whole_.size());
    for (const SampleRule::Sum& sum : rule_->sums)
      if (begins_at_zero(sum)) sliced[sum.output].resize(whole_[sum.output].size());
    for (int64_t begin = 0; begin < samples_; begin += rows)
      if (!run_slice(where, begin, std::min(begin + rows, samples_), sliced)) return;
    for (size_t o : rule_->outputs) compare(where, o, sliced[o], whole_[o]);
    if (rule_->group > 0) {
      for (const SampleRule::Sum& sum : rule_->sums) compare(where, sum.output, sliced[sum.output], whole_[sum.output]);
    } else if (!rule_->sums.empty()) {
      check_sliced_kernel(where, rows, sliced);
    }
  }

  // Adds the outputs of samples [begin, end) to `sliced`. False if the entry does not take so few.
  bool run_slice(const std::string& where, int64_t begin, int64_t end, std::vector<Bytes>& sliced) {
    const SliceCall slice = slice_of(*call_.op, call_.op_call(), *rule_, end - begin, begin > 0 || rule_->group == 0);
    KernelCall call{call_.op, slice.attributes, slice.types, call_.inputs};
    call.inputs.resize(call.types.size());
    for (size_t i : rule_->inputs)
      if (call_.op_call().has(i)) call.inputs[i] = rows_of(i, begin, end);
    for (const SampleRule::Sum& sum : rule_->sums)
      if (sum.accumulator && (begin > 0 || begins_at_zero(sum))) call.inputs[*sum.accumulator] = sliced[sum.output];
    std::string why_not;
    const std::unique_ptr<Kernel> kernel = entry_.make({call.op_call(), threads_}, why_not);
    if (!kernel) return false;
    const RunResult result = run_kernel(*kernel, call, Placement{});
    for (const std::string& text : result.faults) fault(where + text);
    for (size_t o : rule_->outputs) append(sliced[o], result.outputs[o]);
    for (const SampleRule::Sum& sum : rule_->sums) {
      if (begin > 0 && !sum.accumulator) {
        add_floats(sliced[sum.output], result.outputs[sum.output]);
      } else {
        sliced[sum.output] = result.outputs[sum.output];
      }
    }
    return true;
  }

  // As make_sliced_kernel begins where the call has no sum to go on from.
  bool begins_at_zero(const SampleRule::Sum& sum) const {
    return rule_->group == 0 && sum.accumulator && !call_.op_call().has(*sum.accumulator);
  }

  Bytes rows_of(size_t input, int64_t begin, int64_t end) const {
    const int64_t rows = call_.op_call().input(input).shape.dim(0);
    const int64_t row_bytes = call_.op_call().input(input).bytes() / rows;
    const auto at = [&](int64_t sample) {
      return call_.inputs[input].begin() + row_bytes * operand_rows(rows, samples_, sample, rule_->group);
    };
    return {at(begin), at(end)};
  }

  void check_sliced_kernel(const std::string& where, int64_t rows, const std::vector<Bytes>& sliced) {
    std::string why_not;
    const KernelRequest request{call_.op_call(), threads_};
    const std::unique_ptr<Kernel> kernel = make_sliced_kernel(*call_.op, entry_, request, *rule_, rows, why_not);
    if (!kernel) return fault(where + "the slices have kernels, the whole of them has none: " + why_not);
    for (const Placement& placement : placements(*kernel, call_)) {
      const RunResult result = run_kernel(*kernel, call_, placement);
      for (const std::string& text : result.faults) fault(where + placement.name + ": " + text);
      for (size_t o = 0; o < sliced.size(); ++o)
        if (result.outputs[o] != sliced[o])
          fault(where + placement.name + ": output " + std::to_string(o) + " of the sliced kernel is another");
    }
  }

  void compare(const std::string& where, size_t o, const Bytes& got, const Bytes& want) {
    if (got != want) fault(where + "output " + std::to_string(o) + " is not bit-equal to the whole's");
  }

  static constexpr size_t kMostInputs = 16;
  const KernelEntry& entry_;
  const KernelCall& call_;
  const std::vector<Bytes>& whole_;
  const int threads_;
  const std::optional<SampleRule> rule_;
  int64_t samples_ = 0;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> sample_faults(const KernelEntry& entry, const KernelCall& call,
                                       const std::vector<std::vector<std::byte>>& whole, int threads) {
  return SampleCheck(entry, call, whole, threads).run();
}

}  // namespace tidemark::ops::testing
