#include "memory/recompute/chain_dp.h"

#include <cstddef>
#include <limits>

namespace tidemark::memory {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

}  // namespace

ChainDp::ChainDp(std::vector<ChainBlock> blocks, int32_t slots) : blocks_(std::move(blocks)), slots_(slots) {
  cost_before_.assign(blocks_.size() + 1, 0);
  for (std::size_t i = 0; i < blocks_.size(); ++i) cost_before_[i + 1] = cost_before_[i] + blocks_[i].cost;
  const auto count = static_cast<int32_t>(blocks_.size());
  table_.resize(blocks_.size() * blocks_.size() * (slots_ + 1));
  for (int32_t length = 1; length <= count; ++length)
    for (int32_t first = 0; first + length <= count; ++first)
      for (int32_t m = 0; m <= slots_; ++m)
        table_[index(first, first + length - 1, m)] = choose(first, first + length - 1, m);
}

std::size_t ChainDp::index(int32_t first, int32_t last, int32_t slots) const {
  return (static_cast<std::size_t>(first) * blocks_.size() + last) * (slots_ + 1) + slots;
}

ChainDp::Choice ChainDp::choose(int32_t first, int32_t last, int32_t slots) const {
  Choice best{kInfinite, -1};
  const int32_t left = slots - blocks_[first].saved;
  if (left >= 0) {
    const float rest = first == last ? 0 : table_[index(first + 1, last, left)].cost;
    if (rest < kInfinite) best = {static_cast<float>(blocks_[first].cost) + rest, 0};
  }
  for (int32_t k = 1; first + k <= last; ++k) {
    const int32_t kept = slots - blocks_[first + k].input;
    if (kept < 0) continue;
    const auto forward = static_cast<float>(cost_before_[first + k] - cost_before_[first]);
    const float cost =
        forward + table_[index(first + k, last, kept)].cost + table_[index(first, first + k - 1, slots)].cost;
    if (cost < best.cost) best = {cost, static_cast<int16_t>(k)};
  }
  return best;
}

double ChainDp::extra_cost(int32_t slots) const {
  if (blocks_.empty()) return 0;
  const Choice& choice = table_[index(0, static_cast<int32_t>(blocks_.size()) - 1, slots)];
  return choice.split < 0 ? std::numeric_limits<double>::infinity() : choice.cost - cost_before_.back();
}

std::vector<ChainRun> ChainDp::runs(int32_t slots) const {
  std::vector<ChainRun> out;
  if (!blocks_.empty()) collect(0, static_cast<int32_t>(blocks_.size()) - 1, slots, 0, out);
  return out;
}

void ChainDp::collect(int32_t first, int32_t last, int32_t slots, int32_t time, std::vector<ChainRun>& out) const {
  if (first > last) return;
  const int32_t split = table_[index(first, last, slots)].split;
  if (split < 0) return;
  const int32_t next = first + (split == 0 ? 1 : split);
  if (time > 0) out.push_back({first, next - 1, time});
  if (split == 0) {
    collect(next, last, slots - blocks_[first].saved, time, out);
    return;
  }
  collect(next, last, slots - blocks_[next].input, time, out);
  collect(first, next - 1, slots, next, out);  // before the backward part of block next - 1
}

}  // namespace tidemark::memory
