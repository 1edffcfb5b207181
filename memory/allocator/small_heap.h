// Small blocks: bytes of shared pages, of one stream.
//
// Note [Small blocks]
// The heap has addresses of its own, of which some pages are mapped; blocks lie in them side by side, across the edges
// of pages too, and neighbours that are free become one. A request takes nearly the smallest free block that holds it.
// Where none does, the heap grows by a page (or as few as do) at the lowest addresses, and beside a free block if that
// saves a page. Pages without a live block are free pages: the heap uses them as they are, or gives them away.
//
// Books lie on the host: 36 bytes a block, and for every mapped page a table of who starts where (1/64 of its size).
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/category.h"
#include "device/device_memory.h"
#include "memory/allocator/size_bins.h"

namespace tidemark::memory {

// What a caller asked for.
struct SmallRequest {
  int64_t bytes = 0;  // 1 to a page
  Category category = Category::user;
};

class SmallHeap {
 public:
  static constexpr int64_t kUnitBytes = 256;  // blocks are multiples of it

  // Addresses for as many pages as the device may give now, or fewer where the process lacks addresses. Throws
  // Error(out_of_memory) if there are none.
  explicit SmallHeap(DeviceMemory& device);

  // nullptr if no free block is large enough.
  std::byte* take(const SmallRequest& request);
  // Where pages are to be mapped so that a block of so many bytes fits; nothing if the heap's addresses are full.
  struct Growth {
    uint32_t first_page = 0;
    uint32_t pages = 0;
  };
  std::optional<Growth> plan_growth(int64_t bytes) const;
  // Throws Error(out_of_memory) with nothing changed.
  void grow(const Growth& growth, std::span<const PageId> pages);
  // The block that starts there becomes free (TM_CHECK); `number` is the release in the heap's stream.
  void put_back(const std::byte* address, uint64_t number);

  bool holds(const std::byte* address) const {
    return address >= range_.data() && address < range_.data() + range_.bytes();
  }
  // What was asked for (TM_CHECK that a live block starts there).
  SmallRequest find(const std::byte* address) const;

  // Unmaps pages without live blocks that were released up to `done_number`, at most `count`, and appends them.
  void harvest(int64_t count, uint64_t done_number, std::vector<PageId>& out);
  int64_t count_harvestable(uint64_t done_number) const;

  int64_t mapped_pages() const { return mapped_pages_; }
  int64_t free_pages() const { return free_pages_; }
  int64_t largest_free_bytes() const;
  void visit_live(const std::function<void(std::byte*, const SmallRequest&)>& visit) const;
  // The first broken rule in words, empty if none is. Slow.
  std::string find_fault() const;

 private:
  using BlockId = uint32_t;
  static constexpr BlockId kNone = SizeBins::kNone;

  struct Block {
    uint32_t start = 0;    // units from the range's start
    uint32_t units = 0;    // 0: the entry is unused
    BlockId left = kNone;  // neighbours by address, kNone across unmapped pages
    BlockId right = kNone;
    uint8_t waste = 0;  // bytes of the last unit that nobody asked for
    Category category = Category::user;
    bool live = false;
  };
  struct Page {
    PageId id;            // mapped if it has a value
    uint32_t live = 0;    // live blocks that lie in it, at least in part
    uint64_t number = 0;  // the release that emptied it
    // The blocks that last began at its first unit and ended with its last one; where blocks are now says if they do.
    BlockId head = kNone;
    BlockId tail = kNone;
    std::unique_ptr<BlockId[]> starts;  // by unit: the live block that starts there
  };

  uint32_t page_of(uint32_t unit) const { return unit >> page_shift_; }
  uint32_t first_unit(uint32_t page) const { return page << page_shift_; }
  BlockId new_block(const Block& block);
  void drop_block(BlockId block);
  void list(BlockId block) { free_.insert(nodes_, block, blocks_[block].units); }
  void unlist(BlockId block) { free_.erase(nodes_, block); }
  BlockId split(BlockId block, uint32_t units);
  BlockId merge(BlockId left, BlockId right);
  BlockId settle(BlockId block);
  void count_live(const Block& block, int change, uint64_t number);
  BlockId live_at(const std::byte* address) const;
  std::byte* data(const Block& block) const { return range_.data() + int64_t{block.start} * kUnitBytes; }
  void note_edges(BlockId block);
  BlockId block_before(uint32_t page) const;  // that ends where the page begins; kNone: none
  BlockId block_from(uint32_t page) const;    // that begins where the page begins
  uint32_t free_units(BlockId block) const { return block == kNone || blocks_[block].live ? 0 : blocks_[block].units; }
  void carve(BlockId block, const Growth& pages, std::vector<PageId>& out);
  void make_vacant(const Growth& pages);
  void remove_vacant(const Growth& pages);
  // Calls visit(block, pages) for runs of harvestable pages until it returns false.
  template <class Visit>
  void visit_harvestable(uint64_t done_number, Visit visit) const;

  DeviceMemory& device_;
  const int64_t page_bytes_;
  const int page_shift_;  // of units
  VirtualRange range_;
  std::vector<Page> pages_;
  std::map<uint32_t, uint32_t> vacant_;  // runs of unmapped pages: how many, by the first
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
  SizeBins::Nodes nodes_;
  SizeBins free_;
  int64_t mapped_pages_ = 0;
  int64_t free_pages_ = 0;
};

}  // namespace tidemark::memory
