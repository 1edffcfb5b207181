#include "base/id.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace tidemark {
namespace {

using AppleId = Id<struct AppleTag>;
using PearId = Id<struct PearTag>;

static_assert(!std::is_convertible_v<AppleId, PearId>);
static_assert(!std::is_convertible_v<int32_t, AppleId>);

TEST(Id, DefaultNamesNothing) {
  EXPECT_FALSE(AppleId().valid());
  EXPECT_TRUE(AppleId(0).valid());
}

TEST(Id, OrdersAndHashesByValue) {
  EXPECT_LT(AppleId(1), AppleId(2));
  EXPECT_EQ(AppleId(size_t{7}).index(), 7u);
  EXPECT_EQ((std::unordered_set<AppleId>{AppleId(1), AppleId(1), AppleId(2)}).size(), 2u);
}

}  // namespace
}  // namespace tidemark
