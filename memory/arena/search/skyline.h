// The state of the exact search: for every unplaced item the lowest offset it can still have, section by section.
//
// Items are placed upwards: once an item stands at its lowest offset, whatever meets it in time and could have been
// lower is lifted to its top. Every change is undone in reverse order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "memory/arena/search/lanes.h"
#include "memory/arena/search/packing.h"

namespace tidemark::TM_ISA_NAMESPACE {

using memory::Packing;
using memory::PackingItem;
using memory::SectionSpan;

template <class Key>
class Skyline {
 public:
  static constexpr int32_t kPlaced = std::numeric_limits<Key>::max();  // the lowest offset of a placed item

  struct Mark {
    size_t changes, sections;
  };

  // `packing` must outlive it.
  explicit Skyline(const Packing& packing);

  // Back to nothing placed; the largest offset of each item is given. False if that is impossible at once.
  bool reset(int32_t capacity, std::span<const int32_t> largest_offsets);

  // Places an item at its lowest offset. False if some item or section can no longer be completed (failure()); undo()
  // then. `level` counts the decisions on the path, this one included, from 0.
  bool place(int32_t item, int32_t level);

  // Decides that none of the items stands on the floor where they all could, so that none is below the given offsets.
  bool raise(std::span<const int32_t> items, std::span<const int32_t> offsets, int32_t level);

  Mark mark() const { return {changes_.size(), section_changes_.size()}; }
  void undo(Mark mark);

  int32_t lowest(int32_t item) const { return lowest_[item]; }
  bool is_placed(int32_t item) const { return lowest_[item] == kPlaced; }
  int32_t result(int32_t item) const { return result_[item]; }

  // Of a section: least lowest offset of its unplaced items (kPlaced if none), how many have it, units not yet placed.
  int32_t floor(int32_t section) const { return floor_[section]; }
  int32_t candidates(int32_t section) const { return candidates_[section]; }
  int32_t slack(int32_t section) const { return capacity_ - floor_[section] - rest_[section]; }
  int32_t unplaced(int32_t section) const { return unplaced_[section]; }
  // Unplaced items whose lifetime hull goes over the begin of the section.
  int32_t crossing(int32_t section) const { return crossing_[section]; }

  void append_candidates(int32_t section, std::vector<int32_t>& out) const;
  // visit(item, its lowest offset) for the unplaced items of a section.
  template <class Visit>
  void for_each_unplaced(int32_t section, Visit visit) const {
    const Key* key = keys(section);
    const int32_t* item = items_.data() + (key - keys_);
    for (int32_t r = 0; r < row_count_; ++r) {
      if (key[r] != kPlaced) visit(item[r], static_cast<int32_t>(lowest_[item[r]]));
    }
  }
  // Where the item would stand if it had to rest on an unplaced one; kPlaced if there is none.
  int32_t next_rest(int32_t item) const;

  // What cannot be completed: a section whose unplaced items of lowest offset >= `least` do not fit above it, or
  // (section -1) an item whose lowest offset is too high.
  struct Failure {
    int32_t section = -1, item = -1, least = 0;
  };
  const Failure& failure() const { return failure_; }

  // History, for explanations: the changes of an item's lowest offset, newest first, and the decision behind each.
  struct Change {
    int32_t item;    // ~item: was placed
    int32_t lowest;  // before
    int32_t level;
    int32_t previous;  // the change of the same item before this one, -1 if none
  };
  struct Decision {
    int32_t item;    // placed; -1: a floor was wasted
    int32_t offset;  // where, or which floor
  };
  int32_t newest_change(int32_t item) const { return newest_change_[item]; }
  const Change& change(int32_t index) const { return changes_[index]; }
  size_t change_count() const { return changes_.size(); }
  const Decision& decision(int32_t level) const { return decisions_[level]; }
  int32_t level_of(int32_t item) const { return level_of_[item]; }
  int32_t largest(int32_t item) const { return largest_[item]; }
  // Sections looked at, and as much for other things as takes the same time.
  int64_t work() const { return work_; }
  void add_work(int64_t units) { work_ += units; }
  bool has_gaps() const { return has_gaps_; }
  const std::vector<int32_t>& neighbours(int32_t item) const { return neighbours_[item]; }

 private:
  using L = Lanes<Key>;
  struct SectionChange {
    int32_t section, floor, candidates;
  };

  void find_neighbours();
  void assign_rows();
  Key* keys(int32_t section) { return keys_ + static_cast<size_t>(section) * row_count_; }
  const Key* keys(int32_t section) const { return keys_ + static_cast<size_t>(section) * row_count_; }
  void set_keys(int32_t item, int32_t value);
  void note_change(int32_t item, bool placed);
  void touch(int32_t section) { touched_[section / 64] |= uint64_t{1} << (section % 64); }
  void touch_item(int32_t item);
  void lift_in_span(int32_t item, int32_t top);
  bool lift_neighbours(int32_t item, int32_t top);
  bool lift_one(int32_t item, int32_t to);
  bool refresh_touched(int32_t level);
  bool refresh(int32_t section, int32_t level);
  void drop_touched();
  static int32_t align_up(int32_t offset, int32_t alignment) {
    return static_cast<int32_t>((static_cast<int64_t>(offset) + alignment - 1) / alignment * alignment);
  }

  const Packing& packing_;
  int32_t section_count_, item_count_;
  int32_t capacity_ = 0;
  bool has_gaps_ = false, plain_ = true;  // plain: one span each, no alignment
  int32_t row_count_ = 0;                 // keys of one section, a multiple of the lanes
  std::vector<Key> key_storage_, size_storage_;
  Key* keys_ = nullptr;         // [section][row]: lowest offset of the unplaced item there, else kPlaced
  Key* sizes_ = nullptr;        // [section][row]: its size
  std::vector<int32_t> items_;  // [section][row]: the item, -1 if none
  std::vector<int32_t> row_;    // of each item
  std::vector<std::vector<int32_t>> neighbours_;
  std::vector<int32_t> lowest_, largest_, result_;
  std::vector<int32_t> floor_, candidates_, rest_, unplaced_, crossing_, least_rest_;
  std::vector<uint64_t> touched_;
  std::vector<uint8_t> full_;  // sections that the level at hand makes tight
  std::vector<Change> changes_;
  std::vector<SectionChange> section_changes_;
  Failure failure_;
  std::vector<int32_t> newest_change_, level_of_;
  std::vector<Decision> decisions_;
  int32_t level_ = 0;
  int64_t work_ = 0;
};

}  // namespace tidemark::TM_ISA_NAMESPACE
