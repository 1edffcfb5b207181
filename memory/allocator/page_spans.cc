#include "memory/allocator/page_spans.h"

#include <algorithm>

#include "base/error.h"
#include "memory/allocator/address_room.h"

namespace tidemark::memory {
namespace {

// Of the regions that are not for one huge block: terabytes of addresses, megabytes of table.
constexpr int64_t kMostRegionPages = int64_t{1} << 21;

}  // namespace

PageSpans::PageSpans(DeviceMemory& device)
    : device_(device), page_bytes_(device.granularity_bytes()), free_(1), free_pages_(1) {}

SpanId PageSpans::take(uint32_t pages, StreamIndex stream) {
  SpanId span = stream < free_.size() ? free_[stream].find(nodes_, pages) : kNone;
  if (span == kNone && stream != 0) span = free_[0].find(nodes_, pages);
  if (span == kNone) return kNone;
  unlist(span);
  if (spans_[span].pages > pages) list(split(span, pages));
  spans_[span].state = State::live;
  return span;
}

PageSpans::Window PageSpans::choose_window(uint32_t pages, StreamIndex stream) {
  Window best;
  const auto consider = [&](SpanId span) {
    const Window window = window_around(span, pages, stream);
    if (window.span != kNone && (best.span == kNone || window.mapped_pages > best.mapped_pages)) best = window;
  };
  // A few of the longest are enough to look at: the longer, the more of the window is there.
  for (const StreamIndex owner : {StreamIndex{0}, stream}) {
    int looks = 8;
    if (owner >= free_.size()) break;
    free_[owner].visit_from_largest(nodes_, 1, [&](uint32_t span) {
      consider(span);
      return --looks > 0;
    });
    if (stream == 0) break;
  }
  if (best.span != kNone) return best;
  SpanId span = vacant_.find(nodes_, pages);
  if (span == kNone) span = add_region(pages);
  return {span, spans_[span].first_page, pages, 0, 0};
}

PageSpans::Window PageSpans::window_around(SpanId span, uint32_t pages, StreamIndex stream) const {
  Window window{span, spans_[span].first_page, 0, 0, 0};
  const auto extend = [&](SpanId next) {
    const uint32_t more = std::min(spans_[next].pages, pages - window.pages);
    window.pages += more;
    if (spans_[next].state == State::free) window.mapped_pages += more;
    if (spans_[next].state == State::free && spans_[next].stream == 0) window.shared_pages += more;
    return more;
  };
  const auto open = [&](SpanId next) {
    return window.pages < pages && next != kNone &&
           (spans_[next].state == State::vacant || (spans_[next].state == State::free && usable(spans_[next], stream)));
  };
  for (SpanId next = span; open(next); next = spans_[next].right) extend(next);
  for (SpanId next = spans_[span].left; open(next); next = spans_[next].left) {
    window.first_page -= extend(next);
    window.span = next;
  }
  if (window.pages < pages) window.span = kNone;
  return window;
}

SpanId PageSpans::claim(const Window& window) {
  SpanId span = window.span;
  unlist(span);
  if (const uint32_t before = window.first_page - spans_[span].first_page; before > 0) {
    const SpanId right = split(span, before);
    list(span);
    span = right;
  }
  while (spans_[span].pages < window.pages) {
    const SpanId next = spans_[span].right;
    unlist(next);
    span = merge_into_live(span, next, window.pages);
  }
  if (spans_[span].pages > window.pages) list(split(span, window.pages));
  spans_[span].state = State::live;
  return span;
}

SpanId PageSpans::merge_into_live(SpanId span, SpanId next, uint32_t pages) {
  // What lies behind the window keeps its own state.
  const uint32_t wanted = pages - spans_[span].pages;
  if (spans_[next].pages > wanted) list(split(next, wanted));
  return merge(span, next);
}

void PageSpans::map_missing(SpanId span, std::span<const PageId> pages) {
  const uint32_t first = spans_[span].first_page, last = first + spans_[span].pages;
  Region& region = region_of_page(first);
  size_t used = 0;
  std::vector<std::pair<uint32_t, uint32_t>> mapped;
  try {
    for (uint32_t at = first; at < last;) {
      uint32_t end = at;
      while (end < last && page_at_[end].value < 0) ++end;
      if (end > at) {
        region.range.map((at - region.first_page) * page_bytes_, pages.subspan(used, end - at));
        mapped.emplace_back(at, end);
        std::copy_n(pages.begin() + static_cast<std::ptrdiff_t>(used), end - at, page_at_.begin() + at);
        used += end - at;
      }
      at = std::max(end, at + 1);
    }
  } catch (...) {
    for (const auto& [begin, end] : mapped) {
      region.range.unmap((begin - region.first_page) * page_bytes_, (end - begin) * page_bytes_);
      std::fill(page_at_.begin() + begin, page_at_.begin() + end, PageId{});
    }
    throw;
  }
  TM_CHECK(used == pages.size(), "more pages than the span lacks");
  mapped_pages_ += static_cast<int64_t>(used);
}

void PageSpans::abandon(SpanId span, StreamIndex stream, uint64_t number) {
  while (span != kNone) {
    const bool mapped = page_at_[spans_[span].first_page].value >= 0;
    uint32_t pages = 1;
    while (pages < spans_[span].pages && (page_at_[spans_[span].first_page + pages].value >= 0) == mapped) ++pages;
    const SpanId rest = pages < spans_[span].pages ? split(span, pages) : kNone;
    spans_[span].state = mapped ? State::free : State::vacant;
    spans_[span].stream = stream;
    spans_[span].number = number;
    settle(span);
    span = rest;
  }
}

void PageSpans::release(SpanId span, StreamIndex stream, uint64_t number) {
  spans_[span].state = State::free;
  spans_[span].stream = stream;
  spans_[span].number = number;
  settle(span);
}

void PageSpans::share(StreamIndex stream, uint64_t done_number) {
  if (stream >= free_.size() || free_pages_[stream] == 0) return;
  std::vector<SpanId> shared;
  free_[stream].visit_from_largest(nodes_, 1, [&](uint32_t span) {
    if (spans_[span].number <= done_number) shared.push_back(span);
    return true;
  });
  for (const SpanId span : shared) {
    unlist(span);
    spans_[span].stream = 0;
    spans_[span].number = 0;
    settle(span);
  }
}

void PageSpans::harvest(int64_t count, std::vector<PageId>& out) {
  while (count > 0) {
    SpanId span = free_[0].largest();
    if (span == kNone) return;
    unlist(span);
    const uint32_t taken = static_cast<uint32_t>(std::min<int64_t>(count, spans_[span].pages));
    if (taken < spans_[span].pages) {
      const SpanId tail = split(span, spans_[span].pages - taken);
      list(span);
      span = tail;
    }
    unmap(span, out);
    count -= taken;
  }
}

void PageSpans::unmap(SpanId span, std::vector<PageId>& out) {
  Span& entry = spans_[span];
  Region& region = region_of_page(entry.first_page);
  region.range.unmap((entry.first_page - region.first_page) * page_bytes_, entry.pages * page_bytes_);
  for (uint32_t page = entry.first_page; page < entry.first_page + entry.pages; ++page) {
    out.push_back(page_at_[page]);
    page_at_[page] = {};
  }
  mapped_pages_ -= entry.pages;
  entry.state = State::vacant;
  entry.stream = 0;
  entry.number = 0;
  settle(span);
}

int64_t PageSpans::free_pages() const {
  int64_t sum = 0;
  for (const int64_t pages : free_pages_) sum += pages;
  return sum;
}

SpanId PageSpans::add_region(uint32_t pages) {
  // Twice the device: holes between live spans cost addresses, and addresses cost nothing but a few bytes of table.
  const int64_t device_pages = std::min(device_.capacity_bytes(), device_.limit_bytes()) / page_bytes_;
  VirtualRange range =
      reserve_up_to(device_, std::min(2 * device_pages, kMostRegionPages) * page_bytes_, pages * page_bytes_);
  const uint32_t wanted = static_cast<uint32_t>(range.bytes() / page_bytes_);
  Region region{std::move(range), static_cast<uint32_t>(page_at_.size()), wanted};
  span_at_.resize(page_at_.size() + wanted, kNone);
  page_at_.resize(page_at_.size() + wanted);
  Span span;
  span.first_page = region.first_page;
  span.pages = wanted;
  span.state = State::vacant;
  regions_.push_back(std::move(region));
  const SpanId id = new_span(span);
  list(id);
  return id;
}

}  // namespace tidemark::memory
