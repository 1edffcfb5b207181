// The table of small blocks: neighbours, lists, look-ups. What is done with blocks is in small_heap.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "memory/allocator/small_heap.h"

namespace tidemark::memory {

SmallHeap::BlockId SmallHeap::new_block(const Block& block) {
  BlockId id = static_cast<BlockId>(blocks_.size());
  if (!unused_.empty()) {
    id = unused_.back();
    unused_.pop_back();
    blocks_[id] = block;
  } else {
    blocks_.push_back(block);
  }
  if (block.left != kNone) blocks_[block.left].right = id;
  if (block.right != kNone) blocks_[block.right].left = id;
  note_edges(id);
  return id;
}

void SmallHeap::drop_block(BlockId block) {
  blocks_[block] = {};
  unused_.push_back(block);
}

SmallHeap::BlockId SmallHeap::split(BlockId block, uint32_t units) {
  Block right = blocks_[block];
  right.start += units;
  right.units -= units;
  right.left = block;
  blocks_[block].units = units;
  const BlockId id = new_block(right);
  note_edges(block);
  return id;
}

SmallHeap::BlockId SmallHeap::merge(BlockId left, BlockId right) {
  blocks_[left].units += blocks_[right].units;
  blocks_[left].right = blocks_[right].right;
  if (blocks_[left].right != kNone) blocks_[blocks_[left].right].left = left;
  drop_block(right);
  note_edges(left);
  return left;
}

SmallHeap::BlockId SmallHeap::settle(BlockId block) {
  if (const BlockId left = blocks_[block].left; left != kNone && !blocks_[left].live) {
    unlist(left);
    block = merge(left, block);
  }
  if (const BlockId right = blocks_[block].right; right != kNone && !blocks_[right].live) {
    unlist(right);
    block = merge(block, right);
  }
  list(block);
  return block;
}

void SmallHeap::note_edges(BlockId block) {
  const uint32_t begin = blocks_[block].start, end = begin + blocks_[block].units;
  if (begin == first_unit(page_of(begin))) pages_[page_of(begin)].head = block;
  if (end == first_unit(page_of(end))) pages_[page_of(end) - 1].tail = block;
}

SmallHeap::BlockId SmallHeap::block_before(uint32_t page) const {
  if (page == 0 || pages_[page - 1].tail == kNone) return kNone;
  const BlockId block = pages_[page - 1].tail;
  return blocks_[block].units > 0 && blocks_[block].start + blocks_[block].units == first_unit(page) ? block : kNone;
}

SmallHeap::BlockId SmallHeap::block_from(uint32_t page) const {
  if (page >= pages_.size() || pages_[page].head == kNone) return kNone;
  const BlockId block = pages_[page].head;
  return blocks_[block].units > 0 && blocks_[block].start == first_unit(page) ? block : kNone;
}

SmallHeap::BlockId SmallHeap::live_at(const std::byte* address) const {
  TM_CHECK(holds(address), "an address that is not in this heap");
  const int64_t offset = address - range_.data();
  const Page& page = pages_[static_cast<size_t>(offset / page_bytes_)];
  const BlockId block = page.starts ? page.starts[static_cast<size_t>(offset % page_bytes_ / kUnitBytes)] : kNone;
  TM_CHECK(offset % kUnitBytes == 0 && block != kNone,
           fmt::format("{} is not the start of a live block", static_cast<const void*>(address)));
  return block;
}

SmallRequest SmallHeap::find(const std::byte* address) const {
  const Block& block = blocks_[live_at(address)];
  return {int64_t{block.units} * kUnitBytes - block.waste, block.category};
}

void SmallHeap::make_vacant(const Growth& pages) {
  auto run = vacant_.emplace(pages.first_page, pages.pages).first;
  if (run != vacant_.begin()) {
    if (const auto before = std::prev(run); before->first + before->second == run->first) {
      before->second += run->second;
      vacant_.erase(run);
      run = before;
    }
  }
  if (const auto after = std::next(run); after != vacant_.end() && run->first + run->second == after->first) {
    run->second += after->second;
    vacant_.erase(after);
  }
}

void SmallHeap::remove_vacant(const Growth& pages) {
  const auto run = std::prev(vacant_.upper_bound(pages.first_page));
  const auto [first, count] = *run;
  vacant_.erase(run);
  if (first < pages.first_page) vacant_[first] = pages.first_page - first;
  const uint32_t end = pages.first_page + pages.pages;
  if (end < first + count) vacant_[end] = first + count - end;
}

int64_t SmallHeap::largest_free_bytes() const {
  uint32_t largest = 0;
  free_.visit_from_largest(nodes_, 1, [&](BlockId block) {
    largest = std::max(largest, blocks_[block].units);
    return blocks_[block].units * int64_t{17} >= largest * int64_t{16};  // the next list is smaller
  });
  return int64_t{largest} * kUnitBytes;
}

void SmallHeap::visit_live(const std::function<void(std::byte*, const SmallRequest&)>& visit) const {
  for (const Block& block : blocks_) {
    if (block.units == 0 || !block.live) continue;
    visit(data(block), {int64_t{block.units} * kUnitBytes - block.waste, block.category});
  }
}

std::string SmallHeap::find_fault() const {
  std::vector<uint32_t> live(pages_.size()), covered(pages_.size());
  for (BlockId id = 0; id < blocks_.size(); ++id) {
    const Block& block = blocks_[id];
    if (block.units == 0) continue;
    const uint32_t end = block.start + block.units;
    for (uint32_t page = page_of(block.start); page <= page_of(end - 1); ++page) {
      if (block.live) ++live[page];
      covered[page] += std::min(end, first_unit(page + 1)) - std::max(block.start, first_unit(page));
    }
    if (block.right != kNone) {
      const Block& right = blocks_[block.right];
      if (right.left != id || right.start != end) return fmt::format("{} and {} are no neighbours", id, block.right);
      if (!block.live && !right.live) return fmt::format("free block {} is cut", id);
    }
    if (!block.live && nodes_[id].size != block.units) return fmt::format("size of {} in its list", id);
  }
  int64_t mapped = 0, free = 0;
  for (uint32_t page = 0; page < pages_.size(); ++page) {
    const bool is_mapped = pages_[page].id.value >= 0;
    mapped += is_mapped;
    free += is_mapped && live[page] == 0;
    if (live[page] != pages_[page].live) return fmt::format("live blocks of page {}", page);
    if (covered[page] != (is_mapped ? first_unit(1) : 0)) return fmt::format("blocks do not fill page {}", page);
  }
  return mapped == mapped_pages_ && free == free_pages_ ? "" : "counts of pages";
}

}  // namespace tidemark::memory
