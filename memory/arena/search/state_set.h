// A set of 64-bit state hashes: open addressing, doubled when half full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidemark::TM_ISA_NAMESPACE {

class StateSet {
 public:
  bool contains(uint64_t hash) const {
    for (size_t k = hash & mask(); slots_[k] != 0; k = (k + 1) & mask()) {
      if (slots_[k] == hash) return true;
    }
    return false;
  }

  // `hash` is not 0.
  void insert(uint64_t hash) {
    if (2 * size_ >= slots_.size()) grow();
    size_ += put(hash);
  }

  size_t size() const { return size_; }
  void clear() {
    slots_.assign(kLeastSlots, 0);
    size_ = 0;
  }

 private:
  static constexpr size_t kLeastSlots = 4096;

  size_t mask() const { return slots_.size() - 1; }

  bool put(uint64_t hash) {
    size_t k = hash & mask();
    for (; slots_[k] != 0; k = (k + 1) & mask()) {
      if (slots_[k] == hash) return false;
    }
    slots_[k] = hash;
    return true;
  }

  void grow() {
    std::vector<uint64_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    for (uint64_t hash : old) {
      if (hash != 0) put(hash);
    }
  }

  std::vector<uint64_t> slots_ = std::vector<uint64_t>(kLeastSlots, 0);
  size_t size_ = 0;
};

}  // namespace tidemark::TM_ISA_NAMESPACE
