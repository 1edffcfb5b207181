// The caching allocator where no free block is at hand: pages are gathered from wherever they lie.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "memory/allocator/allocator_report.h"
#include "memory/allocator/caching_allocator.h"

namespace tidemark::memory {
namespace {

// Pages that are mapped nowhere, on their way from where they lay to where they are wanted. What is left goes back.
struct PagesInHand {
  ~PagesInHand() { give_back(); }
  void give_back() {
    pool.give_back(pages);
    pages.clear();
  }

  PagePool& pool;
  std::vector<PageId> pages;
};

}  // namespace

std::byte* CachingAllocator::take_growing(Lock& lock, const Want& want) {
  PagesInHand in_hand{pool_, {}};
  std::vector<PageId>& hand = in_hand.pages;
  bool retried = false, gathered = false;
  for (;;) {
    poll();
    std::byte* data = take(want);
    int64_t missing = 0;
    try {
      if (!data) missing = place(want, hand, data);
    } catch (const Error&) {
      if (gathered) books_.note_out_of_memory();
      if (std::exchange(gathered, true)) throw;
      // No more mappings, most likely. Pages that are mapped nowhere come back in order and make fewer of them.
      harvest(shared_pages(), hand);
      in_hand.give_back();
      continue;
    }
    if (data) {
      if (retried) books_.note_retry();
      books_.note_reserved(reserved_pages() * page_bytes_);
      return data;
    }
    const uint64_t releases = releases_;
    if (take_pages(lock, missing, hand)) continue;
    retried = true;
    if (releases_ != releases || wait_for_streams(lock)) continue;
    // Of two threads that have half of what each wants, the one that comes second sees that the first gave up.
    if (!hand.empty()) ++releases_;
    in_hand.give_back();
    ask_for_more(lock, want, missing);
  }
}

// Returns if it makes sense to try again, else refuses.
void CachingAllocator::ask_for_more(Lock& lock, const Want& want, int64_t missing_pages) {
  const uint64_t releases = releases_;
  lock.unlock();
  const int64_t missing_bytes = std::max(page_bytes_, missing_pages * page_bytes_ - device_free_bytes());
  const bool more = options_.on_out_of_memory && options_.on_out_of_memory(missing_bytes);
  lock.lock();
  if (!more && releases_ == releases) refuse(lock, want.request, missing_bytes);
}

// Returns how many pages are missing; 0 if `data` has its block.
int64_t CachingAllocator::place(const Want& want, std::vector<PageId>& hand, std::byte*& data) {
  return want.pages > 0 ? place_span(want, hand, data) : place_small(want, hand, data);
}

int64_t CachingAllocator::place_span(const Want& want, std::vector<PageId>& hand, std::byte*& data) {
  const uint32_t pages = std::max<uint32_t>(want.pages, 1);
  const PageSpans::Window window = spans_.choose_window(pages, want.stream);
  const int64_t lacking = window.pages - window.mapped_pages;
  if (const int64_t missing = gather(lacking, window.shared_pages, hand); missing > 0) return missing;
  const SpanId span = spans_.claim(window);
  harvest(lacking - static_cast<int64_t>(hand.size()), hand);
  const auto mapped = std::span(hand).first(static_cast<size_t>(lacking));
  std::sort(mapped.begin(), mapped.end(), [](PageId a, PageId b) { return a.value < b.value; });
  try {
    spans_.map_missing(span, mapped);
  } catch (...) {
    spans_.abandon(span, want.stream, fences_.note_release(want.stream));
    throw;
  }
  hand.erase(hand.begin(), hand.begin() + lacking);
  spans_.describe(span, {nullptr, want.request.bytes, want.request.category, want.stream});
  data = spans_.data(span);
  return 0;
}

int64_t CachingAllocator::place_small(const Want& want, std::vector<PageId>& hand, std::byte*& data) {
  SmallHeap& heap = heap_of(want.stream);
  const std::optional<SmallHeap::Growth> growth = heap.plan_growth(want.request.bytes);
  if (!growth) return place_span(want, hand, data);
  if (const int64_t missing = gather(growth->pages, 0, hand); missing > 0) return missing;
  harvest(growth->pages - static_cast<int64_t>(hand.size()), hand);
  heap.grow(*growth, std::span(hand).first(growth->pages));
  hand.erase(hand.begin(), hand.begin() + growth->pages);
  data = heap.take({want.request.bytes, want.request.category});
  TM_CHECK(data, "a heap that has grown has no room");
  return 0;
}

// Takes what lies in the pool; returns how many of `count` are then missing, everybody's free pages (but for those that
// are kept where they are) counted as there.
int64_t CachingAllocator::gather(int64_t count, int64_t kept_pages, std::vector<PageId>& hand) {
  pool_.take_cached(count - static_cast<int64_t>(hand.size()), hand);
  const int64_t missing = count - static_cast<int64_t>(hand.size());
  return missing <= 0 ? missing : missing - (shared_pages() - kept_pages);
}

void CachingAllocator::harvest(int64_t count, std::vector<PageId>& hand) {
  const size_t wanted = hand.size() + static_cast<size_t>(std::max<int64_t>(count, 0));
  const auto missing = [&] { return static_cast<int64_t>(wanted - hand.size()); };
  if (missing() > 0) spans_.harvest(missing(), hand);
  for (size_t owner = 0; owner < heaps_.size() && missing() > 0; ++owner) {
    if (heaps_[owner]) heaps_[owner]->harvest(missing(), fences_.done_number(static_cast<StreamIndex>(owner)), hand);
  }
}

namespace {

// This allocator's own free pages are counted as there when a thread of it asks for more: to give them to the device
// and take them back would win nothing, and lose them from the cache where the request is refused after all.
thread_local const CachingAllocator* growing_here = nullptr;

struct GrowingHere {
  explicit GrowingHere(const CachingAllocator* allocator) { growing_here = allocator; }
  ~GrowingHere() { growing_here = nullptr; }
};

}  // namespace

int64_t CachingAllocator::reclaim(int64_t bytes) {
  if (growing_here == this) return 0;
  const std::lock_guard lock(mutex_);
  poll();
  return release_pages((bytes + page_bytes_ - 1) / page_bytes_) * page_bytes_;
}

// False if the device refuses.
bool CachingAllocator::take_pages(Lock& lock, int64_t count, std::vector<PageId>& hand) {
  std::vector<PageId> taken(static_cast<size_t>(count));
  lock.unlock();
  bool refused = false;
  try {
    const GrowingHere growing(this);
    pool_.take(taken);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    refused = true;
  }
  lock.lock();
  if (!refused) hand.insert(hand.end(), taken.begin(), taken.end());
  return !refused;
}

bool CachingAllocator::wait_for_streams(Lock& lock) {
  const std::shared_ptr<Event> event = fences_.outstanding();
  if (!event) return false;
  lock.unlock();
  event->wait();
  lock.lock();
  return true;
}

void CachingAllocator::wait_for_all(Lock& lock) {
  do poll();
  while (wait_for_streams(lock));
}

void CachingAllocator::refuse(Lock& lock, const AllocationRequest& request, int64_t missing_bytes) {
  books_.note_out_of_memory();
  const AllocatorStats stats = read_stats();
  lock.unlock();
  throw Error(ErrorCode::out_of_memory, describe_refusal(request, missing_bytes, stats, live_blocks(), device_));
}

void CachingAllocator::poll() const {
  // What has drained is released in its own stream, which is then to be asked, too: else nobody would wait for it.
  do {
    fences_.poll();
    for (StreamIndex stream = 1; stream < fences_.count(); ++stream) spans_.share(stream, fences_.done_number(stream));
  } while (release_drained() > 0);
}

size_t CachingAllocator::release_drained() const {
  return std::erase_if(draining_, [this](const auto& draining) {
    const bool done = std::all_of(draining.second.begin(), draining.second.end(),
                                  [this](const auto& use) { return fences_.done(use.first, use.second); });
    if (done) release(draining.first);
    return done;
  });
}

int64_t CachingAllocator::release_pages(int64_t count) {
  std::vector<PageId> pages;
  harvest(std::min(count, shared_pages()), pages);
  device_.destroy_pages(pages);
  if (history_ && !pages.empty()) history_->note_trimmed(static_cast<int64_t>(pages.size()) * page_bytes_);
  return static_cast<int64_t>(pages.size());
}

int64_t CachingAllocator::reserved_pages() const {
  int64_t pages = spans_.mapped_pages();
  for (const auto& heap : heaps_) pages += heap ? heap->mapped_pages() : 0;
  return pages;
}

int64_t CachingAllocator::free_pages() const {
  int64_t pages = spans_.free_pages();
  for (const auto& heap : heaps_) pages += heap ? heap->free_pages() : 0;
  return pages;
}

int64_t CachingAllocator::draining_pages() const {
  int64_t pages = 0;
  for (const auto& [data, uses] : draining_) pages += spans_.holds(data) ? spans_.pages(spans_.find(data)) : 0;
  return pages;
}

int64_t CachingAllocator::shared_pages() const {
  int64_t pages = spans_.shared_pages();
  for (size_t owner = 0; owner < heaps_.size(); ++owner) {
    if (!heaps_[owner] || heaps_[owner]->free_pages() == 0) continue;
    const StreamIndex index = static_cast<StreamIndex>(owner);
    pages += fences_.idle(index) ? heaps_[owner]->free_pages()
                                 : heaps_[owner]->count_harvestable(fences_.done_number(index));
  }
  return pages;
}

AllocatorStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return read_stats();
}

AllocatorStats CachingAllocator::read_stats() const {
  poll();
  AllocatorStats stats = books_.stats();
  stats.reserved_bytes = reserved_pages() * page_bytes_;
  stats.cached_bytes = shared_pages() * page_bytes_;
  stats.pending_bytes = (free_pages() + draining_pages()) * page_bytes_ - stats.cached_bytes;
  stats.slack_bytes = stats.reserved_bytes - stats.allocated_bytes - stats.cached_bytes - stats.pending_bytes;
  stats.largest_free_block_bytes = stats.cached_bytes;
  for (const auto& heap : heaps_) {
    if (heap) stats.largest_free_block_bytes = std::max(stats.largest_free_block_bytes, heap->largest_free_bytes());
  }
  stats.device_free_bytes = device_free_bytes();
  return stats;
}

int64_t CachingAllocator::device_free_bytes() const {
  const int64_t below_limit = device_.limit_bytes() - device_.committed_bytes();
  return std::max<int64_t>(0, std::min(below_limit, device_.committable_bytes()));
}

std::string CachingAllocator::find_fault() const {
  const std::lock_guard lock(mutex_);
  if (std::string fault = spans_.find_fault(); !fault.empty()) return "spans: " + fault;
  for (const auto& heap : heaps_) {
    if (!heap) continue;
    if (std::string fault = heap->find_fault(); !fault.empty()) return "heap: " + fault;
  }
  return "";
}

}  // namespace tidemark::memory
