// A sorted list of stages, most often short, that is asked for neighbours far more often than it changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tidemark::memory::recompute {

constexpr int32_t kNever = 1 << 29;  // a stage after all stages

// Stages >= 0 and < kNever, repeats allowed.
class StageList {
 public:
  StageList() : items_{-1, kNever, kNever, kNever} {}

  int32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // First stage > stage, or kNever.
  int32_t next_after(int32_t stage) const { return items_[count_up_to(stage)]; }
  // Last stage <= stage, or -1.
  int32_t last_up_to(int32_t stage) const { return items_[count_up_to(stage) - 1]; }
  int32_t back() const { return back_; }  // -1 if empty
  // last_up_to() and next_after() at once.
  struct Neighbours {
    int32_t last = 0;
    int32_t next = 0;
  };
  Neighbours around(int32_t stage) const {
    const int32_t at = count_up_to(stage);
    return {items_[at - 1], items_[at]};
  }
  const int32_t* begin() const { return items_.data() + 1; }
  const int32_t* end() const { return items_.data() + 1 + size_; }

  void insert(int32_t stage) {
    const int32_t at = count_up_to(stage);
    if (static_cast<size_t>(size_) + 2 == items_.size()) items_.insert(items_.end(), kBlock, kNever);
    std::memmove(&items_[at + 1], &items_[at], sizeof(int32_t) * (size_ + 1 - at));
    items_[at] = stage;
    ++size_;
    back_ = items_[size_];
  }
  // It must be in the list; of repeats one goes.
  void erase(int32_t stage) {
    const int32_t at = count_up_to(stage);
    std::memmove(&items_[at - 1], &items_[at], sizeof(int32_t) * (size_ + 1 - at));
    items_[size_] = kNever;
    --size_;
    back_ = items_[size_];
  }

 private:
  static constexpr int kBlock = 4;
  // Up to so many entries counting all is faster than branches that are mispredicted.
  static constexpr size_t kCountedAll = 48;
  using Block = int32_t __attribute__((vector_size(16)));

  // Of the entries, the -1 in front included.
  int32_t count_up_to(int32_t stage) const {
    if (items_.size() > kCountedAll)
      return static_cast<int32_t>(std::upper_bound(items_.begin(), items_.end(), stage) - items_.begin());
    const Block limit = Block{} + stage;
    Block count{};
    for (size_t i = 0; i < items_.size(); i += kBlock) {
      Block block;
      std::memcpy(&block, items_.data() + i, sizeof block);
      count -= block <= limit;
    }
    return count[0] + count[1] + count[2] + count[3];
  }

  // -1, the stages, then at least one kNever, up to whole blocks.
  std::vector<int32_t> items_;
  int32_t size_ = 0;
  int32_t back_ = -1;
};

}  // namespace tidemark::memory::recompute
