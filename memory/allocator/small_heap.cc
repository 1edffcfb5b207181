#include "memory/allocator/small_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "memory/allocator/address_room.h"

namespace tidemark::memory {
namespace {

// So many runs of unmapped pages are looked at for one to grow into.
constexpr int kGrowthLooks = 64;

uint32_t to_units(int64_t bytes) {
  return static_cast<uint32_t>((bytes + SmallHeap::kUnitBytes - 1) / SmallHeap::kUnitBytes);
}

int64_t address_pages(const DeviceMemory& device) {
  const int64_t bytes = std::min(device.capacity_bytes(), device.limit_bytes());
  return std::clamp<int64_t>(bytes / device.granularity_bytes(), 1,
                             (int64_t{1} << 31) * SmallHeap::kUnitBytes / device.granularity_bytes());
}

}  // namespace

SmallHeap::SmallHeap(DeviceMemory& device)
    : device_(device),
      page_bytes_(device.granularity_bytes()),
      page_shift_(std::countr_zero(static_cast<uint64_t>(page_bytes_ / kUnitBytes))),
      range_(reserve_up_to(device, address_pages(device) * page_bytes_, page_bytes_)),
      pages_(static_cast<size_t>(range_.bytes() / page_bytes_)) {
  TM_CHECK(std::has_single_bit(static_cast<uint64_t>(page_bytes_)), "pages that are no power of two");
  vacant_[0] = static_cast<uint32_t>(pages_.size());
}

std::byte* SmallHeap::take(const SmallRequest& request) {
  const uint32_t units = to_units(request.bytes);
  const BlockId block = free_.find(nodes_, units);
  if (block == kNone) return nullptr;
  unlist(block);
  if (blocks_[block].units > units) list(split(block, units));
  Block& taken = blocks_[block];
  taken.live = true;
  taken.waste = static_cast<uint8_t>(int64_t{units} * kUnitBytes - request.bytes);
  taken.category = request.category;
  count_live(taken, +1, 0);
  pages_[page_of(taken.start)].starts[taken.start - first_unit(page_of(taken.start))] = block;
  return data(taken);
}

void SmallHeap::put_back(const std::byte* address, uint64_t number) {
  const BlockId block = live_at(address);
  Block& freed = blocks_[block];
  freed.live = false;
  pages_[page_of(freed.start)].starts[freed.start - first_unit(page_of(freed.start))] = kNone;
  count_live(freed, -1, number);
  settle(block);
}

void SmallHeap::count_live(const Block& block, int change, uint64_t number) {
  const uint32_t last = page_of(block.start + block.units - 1);
  for (uint32_t page = page_of(block.start); page <= last; ++page) {
    Page& entry = pages_[page];
    if (entry.live == 0) --free_pages_;
    entry.live += static_cast<uint32_t>(change);
    if (entry.live != 0) continue;
    ++free_pages_;
    entry.number = number;
  }
}

std::optional<SmallHeap::Growth> SmallHeap::plan_growth(int64_t bytes) const {
  const uint32_t units = to_units(bytes), units_per_page = first_unit(1);
  std::optional<Growth> best;
  uint32_t best_beside = 0;
  const auto consider = [&](const Growth& growth, uint32_t beside) {
    if (best && growth.pages > best->pages) return;
    if (best && growth.pages == best->pages && beside <= best_beside) return;
    best = growth;
    best_beside = beside;
  };
  const auto pages_for = [&](uint32_t beside) {
    return beside >= units ? 1 : (units - beside + units_per_page - 1) / units_per_page;
  };
  int looks = kGrowthLooks;
  for (const auto& [first, count] : vacant_) {
    const uint32_t before = free_units(block_before(first)), after = free_units(block_from(first + count));
    if (const uint32_t pages = pages_for(before); pages <= count) consider({first, pages}, before);
    if (const uint32_t pages = pages_for(after); pages <= count) consider({first + count - pages, pages}, after);
    if (pages_for(before + after) == count) consider({first, count}, before + after);
    if (--looks == 0) break;
  }
  return best;
}

void SmallHeap::grow(const Growth& growth, std::span<const PageId> pages) {
  range_.map(growth.first_page * page_bytes_, pages);
  remove_vacant(growth);
  const uint32_t units_per_page = first_unit(1);
  for (uint32_t i = 0; i < growth.pages; ++i) {
    Page& page = pages_[growth.first_page + i];
    page.id = pages[i];
    page.starts = std::make_unique_for_overwrite<BlockId[]>(units_per_page);
    std::fill_n(page.starts.get(), units_per_page, kNone);
  }
  mapped_pages_ += growth.pages;
  free_pages_ += growth.pages;
  Block block;
  block.start = first_unit(growth.first_page);
  block.units = first_unit(growth.pages);
  block.left = block_before(growth.first_page);
  block.right = block_from(growth.first_page + growth.pages);
  settle(new_block(block));
}

void SmallHeap::harvest(int64_t count, uint64_t done_number, std::vector<PageId>& out) {
  while (count > 0 && free_pages_ > 0) {
    BlockId block = kNone;
    Growth run;
    visit_harvestable(done_number, [&](BlockId found, const Growth& pages) {
      block = found;
      run = pages;
      return false;
    });
    if (block == kNone) return;
    const uint32_t taken = static_cast<uint32_t>(std::min<int64_t>(count, run.pages));
    // The last ones: what stays lies low.
    carve(block, {run.first_page + run.pages - taken, taken}, out);
    count -= taken;
  }
}

void SmallHeap::carve(BlockId block, const Growth& pages, std::vector<PageId>& out) {
  unlist(block);
  const uint32_t begin = first_unit(pages.first_page), end = first_unit(pages.first_page + pages.pages);
  BlockId hole = block;
  if (blocks_[block].start < begin) {
    hole = split(block, begin - blocks_[block].start);
    blocks_[block].right = kNone;
    list(block);
  } else if (blocks_[block].left != kNone) {
    blocks_[blocks_[block].left].right = kNone;
  }
  if (blocks_[hole].units > end - begin) {
    const BlockId rest = split(hole, end - begin);
    blocks_[rest].left = kNone;
    list(rest);
  } else if (blocks_[hole].right != kNone) {
    blocks_[blocks_[hole].right].left = kNone;
  }
  drop_block(hole);
  range_.unmap(pages.first_page * page_bytes_, pages.pages * page_bytes_);
  for (uint32_t page = pages.first_page; page < pages.first_page + pages.pages; ++page) {
    out.push_back(pages_[page].id);
    pages_[page] = {};
  }
  make_vacant(pages);
  mapped_pages_ -= pages.pages;
  free_pages_ -= pages.pages;
}

template <class Visit>
void SmallHeap::visit_harvestable(uint64_t done_number, Visit visit) const {
  const uint32_t units_per_page = first_unit(1);
  free_.visit_from_largest(nodes_, units_per_page, [&](BlockId id) {
    const Block& block = blocks_[id];
    uint32_t page = page_of(block.start + units_per_page - 1);
    const uint32_t end = page_of(block.start + block.units);
    while (page < end) {
      const uint32_t first = page;
      while (page < end && pages_[page].number <= done_number) ++page;
      if (page > first && !visit(id, Growth{first, page - first})) return false;
      if (page < end) ++page;
    }
    return true;
  });
}

int64_t SmallHeap::count_harvestable(uint64_t done_number) const {
  int64_t count = 0;
  visit_harvestable(done_number, [&](BlockId, const Growth& pages) {
    count += pages.pages;
    return true;
  });
  return count;
}

}  // namespace tidemark::memory
