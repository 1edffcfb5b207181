#include "memory/arena/exhaustive_search.h"

#include <algorithm>
#include <limits>

namespace tidemark::memory {
namespace {

// Of all plans with the least peak take one whose offsets have the least sum. There no buffer can be moved to a lower
// valid offset, so each stands at 0, on the (aligned) top of another, or at the offset of a member of its group; and in
// the order of their offsets, each stands on one that came before. So it is enough to place buffers in all orders with
// ascending offsets, each at each of those places.
class Search {
 public:
  Search(const Trace& trace, int64_t below_bytes)
      : buffers_(trace.buffers), offsets_(trace.buffers.size(), -1), best_(below_bytes) {}

  // below_bytes if no peak is lower.
  int64_t least_peak() {
    int64_t fixed_top = 0;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (!buffers_[i].fixed_offset) continue;
      offsets_[i] = *buffers_[i].fixed_offset;
      fixed_top = std::max(fixed_top, offsets_[i] + buffers_[i].bytes);
    }
    descend(0, fixed_top);
    return best_;
  }

 private:
  void descend(int64_t least_offset, int64_t peak) {
    if (peak >= best_ || least_offset >= best_ || !can_still_win(least_offset)) return;
    if (std::count(offsets_.begin(), offsets_.end(), -1) == 0) {
      best_ = peak;
      return;
    }
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (offsets_[i] >= 0) continue;
      for (int64_t offset : candidates(i, least_offset)) {
        offsets_[i] = offset;
        descend(offset, std::max(peak, offset + buffers_[i].bytes));
        offsets_[i] = -1;
      }
    }
  }

  // Whatever is not placed yet goes to least_offset or higher, so what is live together must fit above it.
  bool can_still_win(int64_t least_offset) const {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (offsets_[i] >= 0) continue;
      int64_t bytes = 0;
      for (size_t k = 0; k < buffers_.size(); ++k) {
        const bool mates = buffers_[k].alias_group.has_value() && k != i;
        if (offsets_[k] < 0 && !mates && live_at(buffers_[k], buffers_[i].intervals[0].begin))
          bytes += buffers_[k].bytes;
      }
      if (least_offset + bytes >= best_) return false;
    }
    return true;
  }

  static bool live_at(const Buffer& buffer, int64_t step) {
    return std::any_of(buffer.intervals.begin(), buffer.intervals.end(),
                       [&](const Interval& i) { return i.begin <= step && step < i.end; });
  }

  std::vector<int64_t> candidates(size_t i, int64_t least_offset) const {
    std::vector<int64_t> result;
    const auto consider = [&](int64_t offset) {
      const int64_t a = buffers_[i].alignment;
      const int64_t aligned = (offset + a - 1) / a * a;
      if (aligned >= least_offset && is_valid(i, aligned)) result.push_back(aligned);
    };
    consider(0);
    for (size_t k = 0; k < buffers_.size(); ++k) {
      if (offsets_[k] < 0) continue;
      consider(offsets_[k]);
      consider(offsets_[k] + buffers_[k].bytes);
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  bool is_valid(size_t i, int64_t offset) const {
    for (size_t k = 0; k < buffers_.size(); ++k) {
      if (k == i || offsets_[k] < 0) continue;
      const bool share_bytes = offset < offsets_[k] + buffers_[k].bytes && offsets_[k] < offset + buffers_[i].bytes;
      const bool mates = buffers_[i].alias_group && buffers_[i].alias_group == buffers_[k].alias_group;
      if (share_bytes && meet(buffers_[i], buffers_[k]) && !(mates && offset == offsets_[k])) return false;
    }
    return true;
  }

  static bool meet(const Buffer& a, const Buffer& b) {
    for (const Interval& x : a.intervals) {
      for (const Interval& y : b.intervals) {
        if (std::max(x.begin, y.begin) < std::min(x.end, y.end)) return true;
      }
    }
    return false;
  }

  const std::vector<Buffer>& buffers_;
  std::vector<int64_t> offsets_;
  int64_t best_;
};

}  // namespace

int64_t exhaustive_least_peak(const Trace& trace) {
  if (trace.buffers.empty()) return 0;
  return Search(trace, std::numeric_limits<int64_t>::max()).least_peak();
}

bool exhaustive_fits(const Trace& trace, int64_t capacity_bytes) {
  return trace.buffers.empty() || Search(trace, capacity_bytes + 1).least_peak() <= capacity_bytes;
}

}  // namespace tidemark::memory
