#include "framework/inference/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "device/host_memory.h"

namespace tidemark::inference {
namespace {

// A block of 16 tokens is 768 KiB; a page of the host 2 MiB.
constexpr ops::KvCacheShape kShape{.layers = 2, .lanes = 3, .heads = 8, .head_dim = 128};
constexpr int64_t kBlock = 16 * 2 * 3 * 8 * 2 * 128 * 4;

TEST(KvCache, TakesThePagesThatItsTokensNeed) {
  HostMemory device;
  KvCache cache(device, kShape, 1000);
  EXPECT_EQ(device.committed_bytes(), 0) << "addresses alone";
  for (const int64_t tokens : {1, 16, 17, 100, 999}) {
    cache.ensure(tokens);
    EXPECT_EQ(cache.bytes_for(tokens), (tokens + 15) / 16 * kBlock);
    EXPECT_EQ(cache.committed_bytes(), device.round_up(cache.bytes_for(tokens))) << tokens;
    EXPECT_EQ(device.committed_bytes(), cache.committed_bytes());
  }
}

TEST(KvCache, GrowsInPlace) {
  HostMemory device;
  KvCache cache(device, kShape, 1000);
  cache.ensure(16);
  std::byte* const before = cache.data();
  std::memset(before, 7, kBlock);
  cache.ensure(1000);
  EXPECT_EQ(cache.data(), before);
  EXPECT_EQ(cache.data()[kBlock - 1], std::byte{7});
  cache.ensure(16);
  EXPECT_EQ(cache.committed_bytes(), device.round_up(cache.bytes_for(1000))) << "pages stay until the cache goes";
}

TEST(KvCache, GivesEverythingBack) {
  HostMemory device;
  { KvCache(device, kShape, 1000).ensure(500); }
  EXPECT_EQ(device.committed_bytes(), 0);
}

TEST(KvCache, ARefusalNamesItAndChangesNothing) {
  HostMemory device;
  KvCache cache(device, kShape, 1000);
  cache.ensure(40);
  device.set_limit_bytes(cache.committed_bytes() + device.granularity_bytes());
  const int64_t before = cache.committed_bytes();
  try {
    cache.ensure(200);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_THAT(error.what(), testing::HasSubstr("key/value cache for 200 tokens of 3 texts needs"));
  }
  EXPECT_EQ(cache.committed_bytes(), before);
  cache.ensure(48);
}

}  // namespace
}  // namespace tidemark::inference
