// The exact search on (a part of) a sectioned trace: bytes in, bytes out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/arena/search/packing.h"
#include "memory/arena/search/valley_search.h"
#include "memory/arena/sectioned_trace.h"

namespace tidemark::memory {

class ExactPacker {
 public:
  struct Result {
    SearchVerdict verdict = SearchVerdict::stopped;  // impossible only if it is true of the bytes themselves
    std::vector<int64_t> offsets;                    // parallel to buffers(); only if found
    int64_t work = 0;
    bool exhausted = false;  // the search looked at everything: more work at this capacity finds no plan either
  };

  // The buffers of `trace` that are named; alias groups are taken as ordinary buffers. Both arguments must outlive it.
  // `largest_capacity_bytes` is the most that pack() will be asked for: it decides about the unit.
  ExactPacker(const SectionedTrace& trace, std::vector<int32_t> buffers, int64_t largest_capacity_bytes);

  // `guide_offsets`: by buffer of the trace, of a plan that is a little too high; advice for the search; may be empty.
  Result pack(int64_t capacity_bytes, const std::vector<int64_t>& guide_offsets, uint64_t seed, int64_t work_limit);

  // By local search (search/overlap_search.h): the lowest plan found, which may be higher than the capacity and then
  // has verdict stopped. Nothing if there are too many buffers or units for it.
  Result pack_by_overlaps(int64_t capacity_bytes, uint64_t seed, int64_t work_limit) const;

  // The least larger capacity that could make a difference to pack().
  int64_t next_capacity(int64_t capacity_bytes) const;

  // No smaller capacity can succeed: the fullest section in the units of the search, which may be larger than its
  // bytes.
  int64_t least_capacity() const { return least_capacity_bytes_; }

  const std::vector<int32_t>& buffers() const { return buffers_; }

 private:
  void choose_unit(int64_t largest_capacity_bytes);
  void fill_packing();
  std::vector<int32_t> largest_offsets(int64_t capacity_bytes) const;
  std::vector<int64_t> to_bytes(const std::vector<int32_t>& offsets) const;

  const SectionedTrace& trace_;
  std::vector<int32_t> buffers_;  // in the order of packing_.items
  int64_t unit_bytes_ = 1;
  bool rounded_ = false;  // the unit does not divide every size: found is true, impossible is not
  bool proofs_hold_ = true;
  int64_t least_capacity_bytes_ = 0;
  Packing packing_;
  std::unique_ptr<ValleySearch> search_;
};

}  // namespace tidemark::memory
