// Why a state cannot be completed: a set of decisions (by level) that already rules out every solution.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/arena/search/skyline.h"

namespace tidemark::TM_ISA_NAMESPACE {

class LevelSet {
 public:
  explicit LevelSet(int32_t levels = 0) : words_(levels / 64 + 1) {}
  void clear() { std::fill(words_.begin(), words_.end(), 0); }
  void insert(int32_t level) { words_[level / 64] |= uint64_t{1} << (level % 64); }
  void erase(int32_t level) { words_[level / 64] &= ~(uint64_t{1} << (level % 64)); }
  void insert_up_to(int32_t level) {
    for (int32_t word = 0; word < level / 64; ++word) words_[word] = ~uint64_t{0};
    words_[level / 64] |= ~uint64_t{0} >> (63 - level % 64);
  }
  bool contains(int32_t level) const { return words_[level / 64] >> (level % 64) & 1; }
  void add(const LevelSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }

 private:
  std::vector<uint64_t> words_;
};

template <class Key>
class Explainer {
 public:
  Explainer(const Packing& packing, const Skyline<Key>& skyline);

  // Each adds to `levels` why, at present:
  // the last place() or raise() failed;
  void explain_failure(LevelSet& levels);
  // some item must stand on the floor of a section, and only its candidates can;
  void explain_choice(int32_t section, LevelSet& levels);
  // the unplaced items that begin in [first, last) are as high as they are;
  void explain_state(int32_t first, int32_t last, LevelSet& levels);
  // the item, were it higher, would have nothing unplaced to rest on.
  void explain_no_rest(int32_t item, LevelSet& levels);

 private:
  struct Demand {
    int32_t item, least, change;
  };

  void start(LevelSet& levels);
  void demand(int32_t item, int32_t least);
  void follow();
  void explain_waste(const Demand& demand, int32_t level, int32_t floor);

  const Packing& packing_;
  const Skyline<Key>& skyline_;
  LevelSet* levels_ = nullptr;
  // Of each change of the skyline's history: the offset that it has to explain, 0 if none. Kept by change, not by item:
  // one change of an item may rest on an older one of the same item.
  std::vector<int32_t> explained_;
  std::vector<int32_t> touched_;  // changes with something to explain
  std::vector<Demand> pending_;   // what is not yet explained
  int32_t blamed_up_to_ = -1;     // all levels up to this one are in the set already
  int32_t steps_left_ = 0;
};

}  // namespace tidemark::TM_ISA_NAMESPACE
