// Large blocks: addresses in whole pages, and what lies behind them.
//
// Note [Stitching]
// Addresses are plentiful, pages are not. The room reserves far more addresses than there are pages and cuts them into
// spans of whole pages: live (in a caller's hands), free (mapped, nobody's), vacant (no pages). A request is served by
// a free span that is long enough. Where there is none, although there are enough free pages, a window of addresses
// without live spans is claimed, preferably around the longest free span, which stays mapped; the pages that it lacks
// are unmapped from other free spans and mapped into it. So free pages serve a request of any size, in whatever order
// sizes come, and a new page is needed only where no free one is left. Mapping costs microseconds a page; blocks of
// sizes that were there before are served without.
//
// Limit: every run of neighbouring pages is one mapping for the kernel. The pool hands out the lowest numbers first, so
// that runs are long; DeviceMemory refuses beyond its limit of mappings.
//
// Not thread-safe. A free span belongs to a stream (0: everybody's). The stream may use it before others may, but where
// it is: work that the stream was given may still touch these addresses, so only everybody's pages are unmapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/category.h"
#include "device/device_memory.h"
#include "memory/allocator/size_bins.h"
#include "memory/allocator/stream_fences.h"

namespace tidemark::memory {

using SpanId = uint32_t;

struct LiveSpan {
  std::byte* data = nullptr;
  int64_t bytes = 0;  // as asked for
  Category category = Category::user;
  StreamIndex stream = 0;
};

class PageSpans {
 public:
  static constexpr SpanId kNone = SizeBins::kNone;

  // The device must outlive it.
  explicit PageSpans(DeviceMemory& device);

  // A live span of free pages that `stream` may use at once; kNone if none is long enough.
  SpanId take(uint32_t pages, StreamIndex stream);

  // Addresses for `pages` without a live span among them.
  struct Window {
    SpanId span = kNone;  // where the walk over the window's spans begins
    uint32_t first_page = 0;
    uint32_t pages = 0;
    uint32_t mapped_pages = 0;
    uint32_t shared_pages = 0;  // of the mapped ones: everybody's
  };
  // The window that keeps most of what is mapped. Throws Error(out_of_memory) if the process has no more addresses.
  Window choose_window(uint32_t pages, StreamIndex stream);
  // Makes the window a live span; its unmapped pages are filled by map_missing() before anything else happens to it.
  SpanId claim(const Window& window);
  // pages.size() is what the window lacks. Throws Error(out_of_memory) with the span as it was.
  void map_missing(SpanId span, std::span<const PageId> pages);
  // Undoes a claim that could not be filled; its mapped pages are the stream's up to that release.
  void abandon(SpanId span, StreamIndex stream, uint64_t number);

  // What the caller says about a live span; data is set by it.
  void describe(SpanId span, const LiveSpan& live);
  std::byte* data(SpanId span) const;
  // True if the address lies in this room's ranges.
  bool holds(const std::byte* address) const { return region_of(address) != nullptr; }
  // The live span that starts there (TM_CHECK).
  SpanId find(const std::byte* address) const;
  LiveSpan live(SpanId span) const;
  uint32_t pages(SpanId span) const { return spans_[span].pages; }
  // A live span becomes free: its stream's, or everybody's for stream 0.
  void release(SpanId span, StreamIndex stream, uint64_t number);
  // Free spans of the stream up to that release become everybody's.
  void share(StreamIndex stream, uint64_t done_number);

  // Unmaps free pages that are everybody's, at most `count`, and appends them.
  void harvest(int64_t count, std::vector<PageId>& out);

  int64_t mapped_pages() const { return mapped_pages_; }
  int64_t free_pages() const;                              // of all streams
  int64_t shared_pages() const { return free_pages_[0]; }  // free ones that are everybody's
  void visit_live(const std::function<void(const LiveSpan&)>& visit) const;
  // The first broken rule in words, empty if none is: neighbours, counts, lists, mappings. Slow.
  std::string find_fault() const;

 private:
  enum class State : uint8_t { unused, vacant, free, live };
  struct Span {
    uint32_t first_page = 0;
    uint32_t pages = 0;
    SpanId left = kNone;  // neighbours by address within a region
    SpanId right = kNone;
    State state = State::unused;
    Category category = Category::user;
    StreamIndex stream = 0;
    uint64_t number = 0;  // free: the release; live: bytes as asked for
  };
  struct Region {
    VirtualRange range;
    uint32_t first_page = 0;
    uint32_t pages = 0;
  };

  SpanId new_span(const Span& span);
  void drop_span(SpanId span);
  SpanId split(SpanId span, uint32_t pages);  // the right part, which is in no list yet, as is the left one
  SpanId merge(SpanId left, SpanId right);    // both in no list
  void list(SpanId span);                     // puts a free or vacant span into its list
  void unlist(SpanId span);
  SpanId settle(SpanId span);  // joins it with equal neighbours, then lists it
  bool usable(const Span& span, StreamIndex stream) const;
  SpanId merge_into_live(SpanId span, SpanId next, uint32_t pages);
  Window window_around(SpanId span, uint32_t pages, StreamIndex stream) const;
  SpanId add_region(uint32_t pages);  // the vacant span that it is
  void unmap(SpanId span, std::vector<PageId>& out);
  const Region* region_of(const std::byte* address) const;
  Region& region_of_page(uint32_t page);
  const Region& region_of_page(uint32_t page) const { return const_cast<PageSpans*>(this)->region_of_page(page); }

  DeviceMemory& device_;
  const int64_t page_bytes_;
  std::vector<Region> regions_;  // in the order of their page numbers
  std::vector<Span> spans_;
  std::vector<SpanId> unused_;
  std::vector<SpanId> span_at_;  // by page: the span that starts there
  std::vector<PageId> page_at_;  // by page: what is mapped there
  SizeBins::Nodes nodes_;
  SizeBins vacant_;
  std::vector<SizeBins> free_;       // by stream
  std::vector<int64_t> free_pages_;  // by stream
  int64_t mapped_pages_ = 0;
};

}  // namespace tidemark::memory
