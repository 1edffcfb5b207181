#include "framework/data/sample_order.h"

#include <numeric>
#include <utility>

#include "base/philox.h"

namespace tidemark::data {

void shuffle_order(uint64_t seed, int64_t epoch, std::span<uint32_t> order) {
  std::iota(order.begin(), order.end(), 0u);
  // Keeps these draws apart from those of dropout and of initial values under the same seed.
  constexpr uint32_t kOrderSite = 0x6F726465;
  const auto epoch_bits = static_cast<uint64_t>(epoch);
  const RandomSite site{.seed = seed,
                        .step = static_cast<uint32_t>(epoch_bits),
                        .sample = static_cast<uint32_t>(epoch_bits >> 32),
                        .op = kOrderSite};
  // Fisher-Yates from the end. 64 random bits a draw: the multiplication's bias is below 2^-32.
  for (size_t i = order.size(); i > 1; --i) {
    const Philox4 block = random_block(site, static_cast<uint32_t>(i / 2));
    const size_t half = (i % 2) * 2;
    const uint64_t bits = uint64_t{block.word[half]} << 32 | block.word[half + 1];
    const auto j = static_cast<size_t>(static_cast<unsigned __int128>(bits) * i >> 64);
    std::swap(order[i - 1], order[j]);
  }
}

}  // namespace tidemark::data
