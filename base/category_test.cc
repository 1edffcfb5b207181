#include "base/category.h"

#include <gtest/gtest.h>

#include <set>

namespace tidemark {
namespace {

TEST(Category, EveryNameReadsBackAsItsCategory) {
  std::set<std::string_view> names;
  for (int i = 0; i < kCategoryCount; ++i) {
    const Category category = static_cast<Category>(i);
    names.insert(to_string(category));
    EXPECT_EQ(category_from_string(to_string(category)), category);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kCategoryCount));
}

TEST(Category, NamesMatchTheirEnumerators) {
  EXPECT_EQ(to_string(Category::weights), "weights");
  EXPECT_EQ(to_string(Category::statistics), "statistics");
  EXPECT_EQ(to_string(Category::kv_cache), "kv_cache");
  EXPECT_EQ(to_string(Category::captured_graph), "captured_graph");
  EXPECT_EQ(to_string(Category::user), "user");
}

TEST(Category, UnknownNameIsNothing) {
  EXPECT_EQ(category_from_string("weight"), std::nullopt);
  EXPECT_EQ(category_from_string(""), std::nullopt);
}

TEST(Scope, EveryNameReadsBack) {
  for (Scope scope : {Scope::run, Scope::step, Scope::micro_batch}) {
    EXPECT_EQ(scope_from_string(to_string(scope)), scope);
  }
  EXPECT_EQ(to_string(Scope::micro_batch), "micro_batch");
  EXPECT_EQ(scope_from_string("epoch"), std::nullopt);
}

}  // namespace
}  // namespace tidemark
