// Free blocks by size: lists of blocks of nearly one size, and bits that say which lists are not empty (after the
// two-level segregated fit of Masmano, Ripoll, Crespo and Real, ECRTS 2004). All calls take constant time.
//
// Sizes below 32 have a list each; above, every power of two is cut into 16. Blocks are numbers of the owner's table;
// their nodes lie in a vector that several SizeBins can share, as a block is in one list at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidemark::memory {

class SizeBins {
 public:
  static constexpr uint32_t kNone = 0xffffffff;
  struct Node {
    uint32_t previous = kNone;
    uint32_t next = kNone;
    uint32_t size = 0;
  };
  using Nodes = std::vector<Node>;

  SizeBins() { heads_.fill(kNone); }

  // `block` is in no list; size > 0. nodes grows as needed.
  void insert(Nodes& nodes, uint32_t block, uint32_t size);
  void erase(Nodes& nodes, uint32_t block);
  // A block of at least `size`, nearly the smallest: the best of the first few of the lists that hold one. kNone: none.
  uint32_t find(const Nodes& nodes, uint32_t size) const;
  // One of the list of the largest; kNone if all are empty.
  uint32_t largest() const { return highest_bin() < 0 ? kNone : heads_[static_cast<size_t>(highest_bin())]; }

  // Calls visit(block) for blocks of at least about `smallest` (some smaller ones of the same list come too), the
  // largest lists first, until it returns false. visit must not change the lists.
  template <class Visit>
  void visit_from_largest(const Nodes& nodes, uint32_t smallest, Visit visit) const {
    for (int bin = highest_bin(); bin >= bin_of(smallest); bin = next_lower_bin(bin)) {
      for (uint32_t block = heads_[static_cast<size_t>(bin)]; block != kNone; block = nodes[block].next) {
        if (!visit(block)) return;
      }
    }
  }

 private:
  static constexpr int kExact = 32;  // sizes with a list of their own
  static constexpr int kBins = kExact + 27 * 16;
  static constexpr int kWords = (kBins + 63) / 64;

  static int bin_of(uint32_t size);
  int next_bin(int bin) const;        // lowest non-empty one from bin on; -1: none
  int highest_bin() const;            // -1: none
  int next_lower_bin(int bin) const;  // highest non-empty one below; -1: none
  uint32_t best_of(const Nodes& nodes, int bin, uint32_t size, int looks) const;

  std::array<uint32_t, kBins> heads_;
  std::array<uint64_t, kWords> filled_{};
};

}  // namespace tidemark::memory
