// The table of spans: neighbours, lists, look-ups. What is done with spans is in page_spans.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "memory/allocator/page_spans.h"

namespace tidemark::memory {

SpanId PageSpans::new_span(const Span& span) {
  SpanId id = static_cast<SpanId>(spans_.size());
  if (!unused_.empty()) {
    id = unused_.back();
    unused_.pop_back();
    spans_[id] = span;
  } else {
    spans_.push_back(span);
  }
  span_at_[span.first_page] = id;
  return id;
}

void PageSpans::drop_span(SpanId span) {
  span_at_[spans_[span].first_page] = kNone;
  spans_[span] = {};
  unused_.push_back(span);
}

SpanId PageSpans::split(SpanId span, uint32_t pages) {
  Span right = spans_[span];
  right.first_page += pages;
  right.pages -= pages;
  right.left = span;
  const SpanId id = new_span(right);
  spans_[span].pages = pages;
  spans_[span].right = id;
  if (right.right != kNone) spans_[right.right].left = id;
  return id;
}

SpanId PageSpans::merge(SpanId left, SpanId right) {
  spans_[left].pages += spans_[right].pages;
  spans_[left].number = std::max(spans_[left].number, spans_[right].number);
  spans_[left].right = spans_[right].right;
  if (spans_[left].right != kNone) spans_[spans_[left].right].left = left;
  drop_span(right);
  return left;
}

void PageSpans::list(SpanId span) {
  const Span& entry = spans_[span];
  if (entry.state == State::vacant) return vacant_.insert(nodes_, span, entry.pages);
  if (entry.stream >= free_.size()) {
    free_.resize(entry.stream + size_t{1});
    free_pages_.resize(entry.stream + size_t{1});
  }
  free_[entry.stream].insert(nodes_, span, entry.pages);
  free_pages_[entry.stream] += entry.pages;
}

void PageSpans::unlist(SpanId span) {
  const Span& entry = spans_[span];
  if (entry.state == State::vacant) return vacant_.erase(nodes_, span);
  free_[entry.stream].erase(nodes_, span);
  free_pages_[entry.stream] -= entry.pages;
}

SpanId PageSpans::settle(SpanId span) {
  const auto alike = [this](SpanId a, SpanId b) {
    return a != kNone && b != kNone && spans_[a].state == spans_[b].state &&
           (spans_[a].state == State::vacant || spans_[a].stream == spans_[b].stream);
  };
  if (const SpanId left = spans_[span].left; alike(left, span)) {
    unlist(left);
    span = merge(left, span);
  }
  if (const SpanId right = spans_[span].right; alike(span, right)) {
    unlist(right);
    span = merge(span, right);
  }
  list(span);
  return span;
}

bool PageSpans::usable(const Span& span, StreamIndex stream) const { return span.stream == 0 || span.stream == stream; }

void PageSpans::describe(SpanId span, const LiveSpan& live) {
  spans_[span].category = live.category;
  spans_[span].stream = live.stream;
  spans_[span].number = static_cast<uint64_t>(live.bytes);
}

std::byte* PageSpans::data(SpanId span) const {
  const Region& region = region_of_page(spans_[span].first_page);
  return region.range.data() + (spans_[span].first_page - region.first_page) * page_bytes_;
}

SpanId PageSpans::find(const std::byte* address) const {
  const Region* region = region_of(address);
  TM_CHECK(region, "an address that is not in this room");
  const int64_t offset = address - region->range.data();
  const SpanId span = span_at_[region->first_page + static_cast<size_t>(offset / page_bytes_)];
  TM_CHECK(offset % page_bytes_ == 0 && span != kNone && spans_[span].state == State::live,
           fmt::format("{} is not the start of a live block", static_cast<const void*>(address)));
  return span;
}

LiveSpan PageSpans::live(SpanId span) const {
  const Span& entry = spans_[span];
  return {data(span), static_cast<int64_t>(entry.number), entry.category, entry.stream};
}

void PageSpans::visit_live(const std::function<void(const LiveSpan&)>& visit) const {
  for (SpanId span = 0; span < spans_.size(); ++span) {
    if (spans_[span].state == State::live) visit(live(span));
  }
}

const PageSpans::Region* PageSpans::region_of(const std::byte* address) const {
  for (const Region& region : regions_) {
    if (address >= region.range.data() && address < region.range.data() + region.range.bytes()) return &region;
  }
  return nullptr;
}

PageSpans::Region& PageSpans::region_of_page(uint32_t page) {
  auto after = std::upper_bound(regions_.begin(), regions_.end(), page,
                                [](uint32_t p, const Region& region) { return p < region.first_page; });
  return *(after - 1);
}

std::string PageSpans::find_fault() const {
  std::vector<int64_t> free_pages(free_pages_.size());
  int64_t mapped = 0;
  for (SpanId id = 0; id < spans_.size(); ++id) {
    const Span& span = spans_[id];
    if (span.state == State::unused) continue;
    if (span_at_[span.first_page] != id) return fmt::format("span {} is not where its page says", id);
    if (span.right != kNone) {
      const Span& right = spans_[span.right];
      if (right.left != id || right.first_page != span.first_page + span.pages) {
        return fmt::format("spans {} and {} are not neighbours", id, span.right);
      }
      if (span.state == State::vacant && right.state == State::vacant) return fmt::format("vacant {} is cut", id);
    }
    for (uint32_t page = span.first_page; page < span.first_page + span.pages; ++page) {
      if ((page_at_[page].value >= 0) == (span.state == State::vacant)) return fmt::format("page {} of {}", page, id);
    }
    if (span.state != State::vacant) mapped += span.pages;
    if (span.state == State::free) free_pages[span.stream] += span.pages;
    if (span.state != State::live && nodes_[id].size != span.pages) return fmt::format("size of {} in its list", id);
  }
  if (free_pages != free_pages_) return "free pages";
  return mapped == mapped_pages_ ? "" : fmt::format("{} mapped pages, counted {}", mapped, mapped_pages_);
}

}  // namespace tidemark::memory
