#include "memory/allocator/size_bins.h"

#include <bit>

namespace tidemark::memory {
namespace {

// How many blocks of a list are looked at: the best of these is taken.
constexpr int kLooks = 16;

}  // namespace

int SizeBins::bin_of(uint32_t size) {
  if (size < kExact) return static_cast<int>(size);
  const int power = std::bit_width(size) - 1;  // >= 5
  return kExact + (power - 5) * 16 + static_cast<int>((size >> (power - 4)) & 15);
}

void SizeBins::insert(Nodes& nodes, uint32_t block, uint32_t size) {
  if (block >= nodes.size()) nodes.resize(block + 1);
  const int bin = bin_of(size);
  uint32_t& head = heads_[static_cast<size_t>(bin)];
  nodes[block] = {kNone, head, size};
  if (head != kNone) nodes[head].previous = block;
  head = block;
  filled_[static_cast<size_t>(bin / 64)] |= uint64_t{1} << (bin % 64);
}

void SizeBins::erase(Nodes& nodes, uint32_t block) {
  const Node node = nodes[block];
  if (node.next != kNone) nodes[node.next].previous = node.previous;
  if (node.previous != kNone) {
    nodes[node.previous].next = node.next;
    return;
  }
  const int bin = bin_of(node.size);
  heads_[static_cast<size_t>(bin)] = node.next;
  if (node.next == kNone) filled_[static_cast<size_t>(bin / 64)] &= ~(uint64_t{1} << (bin % 64));
}

uint32_t SizeBins::find(const Nodes& nodes, uint32_t size) const {
  const int own = bin_of(size);
  if (const uint32_t block = best_of(nodes, own, size, kLooks); block != kNone) return block;
  const int bin = next_bin(own + 1);
  return bin < 0 ? kNone : best_of(nodes, bin, size, kLooks);
}

uint32_t SizeBins::best_of(const Nodes& nodes, int bin, uint32_t size, int looks) const {
  uint32_t best = kNone;
  for (uint32_t block = heads_[static_cast<size_t>(bin)]; block != kNone && looks > 0; --looks) {
    const Node& node = nodes[block];
    if (node.size == size) return block;
    if (node.size > size && (best == kNone || node.size < nodes[best].size)) best = block;
    block = node.next;
  }
  return best;
}

int SizeBins::next_bin(int bin) const {
  for (int word = bin / 64; word < kWords; ++word) {
    uint64_t bits = filled_[static_cast<size_t>(word)];
    if (word == bin / 64) bits &= ~uint64_t{0} << (bin % 64);
    if (bits) return word * 64 + std::countr_zero(bits);
  }
  return -1;
}

int SizeBins::highest_bin() const { return next_lower_bin(kBins); }

int SizeBins::next_lower_bin(int bin) const {
  for (int word = (bin - 1) / 64; bin > 0 && word >= 0; --word) {
    uint64_t bits = filled_[static_cast<size_t>(word)];
    if (word == bin / 64) bits &= (uint64_t{1} << (bin % 64)) - 1;
    if (bits) return word * 64 + 63 - std::countl_zero(bits);
  }
  return -1;
}

}  // namespace tidemark::memory
