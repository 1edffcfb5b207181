// The keys and values of the texts in hand: addresses for the longest text at once, pages as the texts grow.
//
// See Note [Cache layout] in ops/cached_attention/kv_cache_layout.h: more tokens are more bytes at the end. So the
// cache grows without a copy and without a new address, its shape is that of the longest text from the start, and what
// it takes from the device is what the tokens need, rounded up to a page. Its pages are Category::kv_cache.
#pragma once

#include "device/device_memory.h"
#include "ops/cached_attention/kv_cache_layout.h"

namespace tidemark::inference {

class KvCache {
 public:
  // Takes addresses for `tokens` tokens of every lane, and no pages. The device must outlive the cache.
  KvCache(DeviceMemory& device, const ops::KvCacheShape& shape, int64_t tokens);

  // Pages for the first `tokens` tokens of every lane. Contents of pages that were there stay. Throws
  // Error(out_of_memory) naming the cache, with nothing changed.
  void ensure(int64_t tokens);

  const ValueType& type() const { return type_; }
  std::byte* data() const { return range_.data(); }
  // Whole blocks of so many tokens.
  int64_t bytes_for(int64_t tokens) const;
  int64_t committed_bytes() const { return range_.committed_bytes(); }

 private:
  DeviceMemory& device_;
  const int64_t lanes_;
  const ValueType type_;
  VirtualRange range_;
};

}  // namespace tidemark::inference
