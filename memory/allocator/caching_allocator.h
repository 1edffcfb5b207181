// The allocator for what cannot be planned: keeps pages for later and serves a request of any size from them.
//
// Requests of at least large_bytes get whole pages of their own (page_spans.h, Note [Stitching]), smaller ones share
// pages with others of their stream (small_heap.h, Note [Small blocks]). Pages come from the process's pool and are
// kept until trim(), until somebody else needs them (it is a reclaimer of the device), or until the allocator ends.
//
// Note [Streams and reuse]
// A block that goes back is its stream's at once, where it is. Everybody else gets its pages after an event behind that
// stream's work, and only then are they mapped elsewhere: queued work may touch the old addresses. Events are recorded
// when somebody asks, not when blocks go back. A block that record_use() gave to more streams
// stays out of reach until those are done. nullptr is the calling thread: its blocks are everybody's at once, so its
// work on them must be done when they go back, and it gets no bytes that a stream may still use.
//
// Out of memory: the device's reclaimers have given what others keep, and that and this allocator's own free pages are
// too few together; then it waits for streams, then asks options.on_out_of_memory, and only then refuses. A refused
// request leaves the free pages where they were.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memory/allocator/allocation_books.h"
#include "memory/allocator/allocator.h"
#include "memory/allocator/allocator_report.h"
#include "memory/allocator/history/allocation_history.h"
#include "memory/allocator/page_spans.h"
#include "memory/allocator/small_heap.h"
#include "memory/allocator/stream_fences.h"
#include "memory/pages/page_pool.h"

namespace tidemark::memory {

struct AllocatorOptions {
  // Blocks of at least so many bytes get pages of their own; 0: half a page. At most a page.
  int64_t large_bytes = 0;
  // Asked, without a lock, before a request is refused for want of so many bytes; true if it gave memory back. It may
  // call deallocate() and trim(). The request is tried again as long as it says true.
  std::function<bool(int64_t missing_bytes)> on_out_of_memory;
  // For debugging: where every block was taken (snapshot(), and the list of leaks at the end), and the last events.
  // Costs microseconds a call.
  HistoryOptions history;
};

class CachingAllocator final : public Allocator {
 public:
  // The pool and its device must outlive it; so must streams that it was given, unless forget() comes first.
  explicit CachingAllocator(PagePool& pool, AllocatorOptions options = {});
  // Waits for streams. Blocks that are still live are logged, by category and the place where they were taken, and
  // taken back.
  ~CachingAllocator() override;

  std::byte* allocate(const AllocationRequest& request) override;
  void deallocate(std::byte* address) override;
  void record_use(std::byte* address, Stream& stream) override;
  AllocatorStats stats() const override;
  void reset_peaks() override;
  int64_t trim(int64_t cached_bytes) override;

  // Before a stream ends: waits for it and makes what it released everybody's. Its live blocks and those that it uses
  // stay; the stream is done with them.
  void forget(Stream& stream);

  std::vector<LiveBlock> live_blocks() const;
  // Figures and live blocks; events and stacks as options.history says.
  MemorySnapshot snapshot() const;
  // The first broken rule of the books in words, empty if none is. Slow; for tests.
  std::string find_fault() const;
  const DeviceMemory& device() const { return device_; }

 private:
  struct Want {
    AllocationRequest request;
    StreamIndex stream = 0;
    uint32_t pages = 0;  // of its own; 0: shares pages
  };
  using Uses = std::vector<std::pair<StreamIndex, uint64_t>>;  // done when these releases are
  using Lock = std::unique_lock<std::mutex>;

  Want want_of(const AllocationRequest& request);
  SmallHeap& heap_of(StreamIndex stream);
  size_t heap_holding(const std::byte* address) const;
  LiveBlock block_at(std::byte* address) const;

  std::byte* allocate_block(const AllocationRequest& request);
  std::vector<LeakedBlocks> leaks() const;

  std::byte* take(const Want& want);
  std::byte* take_growing(Lock& lock, const Want& want);
  int64_t place(const Want& want, std::vector<PageId>& hand, std::byte*& data);
  int64_t place_span(const Want& want, std::vector<PageId>& hand, std::byte*& data);
  int64_t place_small(const Want& want, std::vector<PageId>& hand, std::byte*& data);
  int64_t gather(int64_t count, int64_t kept_pages, std::vector<PageId>& hand);
  void harvest(int64_t count, std::vector<PageId>& hand);
  bool take_pages(Lock& lock, int64_t count, std::vector<PageId>& hand);
  bool wait_for_streams(Lock& lock);
  void wait_for_all(Lock& lock);
  void ask_for_more(Lock& lock, const Want& want, int64_t missing_pages);
  [[noreturn]] void refuse(Lock& lock, const AllocationRequest& request, int64_t missing_bytes);

  void release(std::byte* address) const;
  void poll() const;
  size_t release_drained() const;  // of blocks that other streams used: how many
  int64_t reclaim(int64_t bytes);
  int64_t release_pages(int64_t count);
  int64_t reserved_pages() const;
  int64_t free_pages() const;
  int64_t draining_pages() const;  // of blocks that have pages of their own
  int64_t shared_pages() const;    // free ones that are everybody's
  AllocatorStats read_stats() const;
  int64_t device_free_bytes() const;  // that the limit allows

  PagePool& pool_;
  DeviceMemory& device_;
  const AllocatorOptions options_;
  const int64_t page_bytes_;
  const int64_t large_bytes_;
  const int64_t most_bytes_;  // of one block: what the device has
  int64_t reclaimer_ = 0;
  const std::unique_ptr<AllocationHistory> history_;  // nullptr: none is kept

  mutable std::mutex mutex_;
  AllocationBooks books_;
  uint64_t releases_ = 0;
  // Looking at streams, which every reader of figures does, moves blocks from a stream's to everybody's.
  mutable StreamFences fences_;
  mutable PageSpans spans_;
  mutable std::vector<std::unique_ptr<SmallHeap>> heaps_;      // by stream; nullptr until first used
  mutable std::map<std::byte*, Uses> draining_;                // went back, but other streams may use them
  std::map<std::byte*, std::vector<StreamIndex>> other_uses_;  // of live blocks
};

}  // namespace tidemark::memory
