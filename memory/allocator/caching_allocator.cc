#include "memory/allocator/caching_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace tidemark::memory {
namespace {

// More places than this are one bug, not many.
constexpr size_t kLoggedLeaks = 20;

void log_leaks(const std::string& device, const std::vector<LeakedBlocks>& leaks) {
  for (size_t i = 0; i < std::min(leaks.size(), kLoggedLeaks); ++i) {
    log(LogLevel::error, "memory_leaked",
        {{"device", device},
         {"category", to_string(leaks[i].category)},
         {"blocks", leaks[i].blocks},
         {"bytes", leaks[i].bytes},
         {"stack", fmt::format("{}", fmt::join(leaks[i].stack, " < "))}});
  }
  if (leaks.size() > kLoggedLeaks) log(LogLevel::error, "memory_leaked_elsewhere", {{"places", leaks.size()}});
}

}  // namespace

CachingAllocator::CachingAllocator(PagePool& pool, AllocatorOptions options)
    : pool_(pool),
      device_(pool.device()),
      options_(std::move(options)),
      page_bytes_(pool.page_bytes()),
      large_bytes_(options_.large_bytes > 0 ? std::min(options_.large_bytes, page_bytes_) : page_bytes_ / 2),
      most_bytes_(std::min(kLargestBlockBytes, device_.capacity_bytes())),
      history_(options_.history.capture_stacks || options_.history.kept_events > 0
                   ? std::make_unique<AllocationHistory>(options_.history)
                   : nullptr),
      spans_(device_) {
  reclaimer_ = device_.add_reclaimer([this](int64_t bytes) { return reclaim(bytes); });
}

CachingAllocator::~CachingAllocator() {
  device_.remove_reclaimer(reclaimer_);
  try {
    Lock lock(mutex_);
    wait_for_all(lock);
    lock.unlock();
    log_leaks(device_.name(), leaks());
    for (const LiveBlock& block : live_blocks()) {
      other_uses_.erase(block.data);
      deallocate(block.data);
    }
    lock.lock();
    wait_for_all(lock);
    release_pages(std::numeric_limits<int64_t>::max());
  } catch (const std::exception& e) {
    log(LogLevel::error, "allocator_release_failed", {{"device", device_.name()}, {"reason", e.what()}});
  }
}

CachingAllocator::Want CachingAllocator::want_of(const AllocationRequest& request) {
  TM_CHECK(request.bytes > 0, fmt::format("a block of {} bytes", request.bytes));
  Want want{request, fences_.index_of(request.stream), 0};
  if (request.bytes >= large_bytes_) want.pages = static_cast<uint32_t>((request.bytes - 1) / page_bytes_ + 1);
  return want;
}

std::byte* CachingAllocator::allocate(const AllocationRequest& request) {
  if (!history_) return allocate_block(request);
  try {
    std::byte* data = allocate_block(request);
    history_->note_allocated(data, request);
    return data;
  } catch (const Error&) {
    history_->note_refused(request);
    throw;
  }
}

std::byte* CachingAllocator::allocate_block(const AllocationRequest& request) {
  Lock lock(mutex_);
  books_.note_call();
  // Nothing could help, and addresses for it would cost tables of their size.
  if (request.bytes > most_bytes_) refuse(lock, request, request.bytes - most_bytes_);
  const Want want = want_of(request);
  std::byte* data = take(want);
  if (data) {
    books_.note_hit();
  } else {
    data = take_growing(lock, want);
  }
  books_.note_allocated(request.bytes, request.category);
  return data;
}

std::byte* CachingAllocator::take(const Want& want) {
  if (want.pages == 0) return heap_of(want.stream).take({want.request.bytes, want.request.category});
  const SpanId span = spans_.take(want.pages, want.stream);
  if (span == PageSpans::kNone) return nullptr;
  spans_.describe(span, {nullptr, want.request.bytes, want.request.category, want.stream});
  return spans_.data(span);
}

SmallHeap& CachingAllocator::heap_of(StreamIndex stream) {
  if (stream >= heaps_.size()) heaps_.resize(stream + size_t{1});
  if (!heaps_[stream]) heaps_[stream] = std::make_unique<SmallHeap>(device_);
  return *heaps_[stream];
}

size_t CachingAllocator::heap_holding(const std::byte* address) const {
  for (size_t i = 0; i < heaps_.size(); ++i) {
    if (heaps_[i] && heaps_[i]->holds(address)) return i;
  }
  TM_CHECK(false, fmt::format("{} is not of this allocator", static_cast<const void*>(address)));
}

LiveBlock CachingAllocator::block_at(std::byte* address) const {
  if (spans_.holds(address)) {
    const LiveSpan span = spans_.live(spans_.find(address));
    return {address, span.bytes, span.category};
  }
  const SmallRequest block = heaps_[heap_holding(address)]->find(address);
  return {address, block.bytes, block.category};
}

void CachingAllocator::deallocate(std::byte* address) {
  if (history_) history_->note_freed(address);
  const std::lock_guard lock(mutex_);
  const LiveBlock block = block_at(address);
  TM_CHECK(draining_.empty() || !draining_.contains(address), "a block is given back twice");
  books_.note_freed(block.bytes, block.category);
  ++releases_;
  if (!other_uses_.empty()) {
    if (const auto uses = other_uses_.find(address); uses != other_uses_.end()) {
      Uses& draining = draining_[address];
      for (const StreamIndex stream : uses->second) draining.emplace_back(stream, fences_.note_release(stream));
      other_uses_.erase(uses);
      return;
    }
  }
  release(address);
}

void CachingAllocator::release(std::byte* address) const {
  if (spans_.holds(address)) {
    const SpanId span = spans_.find(address);
    const StreamIndex stream = spans_.live(span).stream;
    spans_.release(span, stream, fences_.note_release(stream));
    return;
  }
  const size_t stream = heap_holding(address);
  heaps_[stream]->put_back(address, fences_.note_release(static_cast<StreamIndex>(stream)));
}

void CachingAllocator::record_use(std::byte* address, Stream& stream) {
  const std::lock_guard lock(mutex_);
  block_at(address);
  const StreamIndex index = fences_.index_of(&stream);
  const StreamIndex own = spans_.holds(address) ? spans_.live(spans_.find(address)).stream
                                                : static_cast<StreamIndex>(heap_holding(address));
  if (index == own) return;
  std::vector<StreamIndex>& uses = other_uses_[address];
  if (std::find(uses.begin(), uses.end(), index) == uses.end()) uses.push_back(index);
}

void CachingAllocator::forget(Stream& stream) {
  const std::lock_guard lock(mutex_);
  fences_.forget(stream);
  poll();
}

void CachingAllocator::reset_peaks() {
  const std::lock_guard lock(mutex_);
  books_.reset_peaks(reserved_pages() * page_bytes_);
}

int64_t CachingAllocator::trim(int64_t cached_bytes) {
  const std::lock_guard lock(mutex_);
  poll();
  return release_pages(shared_pages() - cached_bytes / page_bytes_) * page_bytes_;
}

MemorySnapshot CachingAllocator::snapshot() const {
  MemorySnapshot snapshot;
  if (history_) snapshot = history_->snapshot();
  snapshot.stats = stats();
  if (history_) return snapshot;
  for (const LiveBlock& block : live_blocks()) {
    snapshot.blocks.push_back({reinterpret_cast<uint64_t>(block.data), block.bytes, block.category});
  }
  return snapshot;
}

std::vector<LeakedBlocks> CachingAllocator::leaks() const {
  if (history_) return history_->live_by_stack();
  std::map<Category, LeakedBlocks> by_category;
  for (const LiveBlock& block : live_blocks()) {
    LeakedBlocks& group = by_category[block.category];
    group.category = block.category;
    ++group.blocks;
    group.bytes += block.bytes;
  }
  std::vector<LeakedBlocks> leaks;
  for (auto& [category, group] : by_category) leaks.push_back(std::move(group));
  return leaks;
}

std::vector<LiveBlock> CachingAllocator::live_blocks() const {
  const std::lock_guard lock(mutex_);
  std::vector<LiveBlock> blocks;
  spans_.visit_live([&](const LiveSpan& span) { blocks.push_back({span.data, span.bytes, span.category}); });
  for (const auto& heap : heaps_) {
    if (!heap) continue;
    heap->visit_live([&](std::byte* data, const SmallRequest& r) { blocks.push_back({data, r.bytes, r.category}); });
  }
  std::erase_if(blocks, [this](const LiveBlock& block) { return draining_.contains(block.data); });
  return blocks;
}

}  // namespace tidemark::memory
