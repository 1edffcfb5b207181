#include "framework/inference/kv_cache.h"

#include "base/bytes.h"
#include "base/error.h"

namespace tidemark::inference {

KvCache::KvCache(DeviceMemory& device, const ops::KvCacheShape& shape, int64_t tokens)
    : device_(device),
      lanes_(shape.lanes),
      type_(ops::kv_cache_type(shape, tokens)),
      range_(device.reserve(type_.bytes())) {}

int64_t KvCache::bytes_for(int64_t tokens) const { return type_.bytes() / type_.shape[0] * ops::kv_blocks(tokens); }

void KvCache::ensure(int64_t tokens) {
  const int64_t bytes = device_.round_up(bytes_for(tokens)), before = range_.committed_bytes();
  TM_CHECK(bytes <= range_.bytes(), "a cache of " + std::to_string(type_.shape[0]) + " blocks");
  if (bytes <= before) return;
  try {
    range_.commit(before, bytes - before);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    throw Error(ErrorCode::out_of_memory,
                "key/value cache for " + std::to_string(tokens) + (tokens == 1 ? " token of " : " tokens of ") +
                    std::to_string(lanes_) + (lanes_ == 1 ? " text" : " texts") + " needs " + format_bytes(bytes) +
                    ", has " + format_bytes(before) +
                    "; ask for fewer tokens or samples, or raise memory.budget: " + error.what());
  }
}

}  // namespace tidemark::inference
