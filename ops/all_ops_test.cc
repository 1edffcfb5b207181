#include "ops/all_ops.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

namespace tidemark::ops {
namespace {

// `name` in backticks in the second column of the README's table.
std::set<std::string> ops_in_readme() {
  std::ifstream readme("ops/README.md");
  std::set<std::string> names;
  for (std::string line; std::getline(readme, line);) {
    std::smatch row;
    if (!std::regex_match(line, row, std::regex("\\| `[a-z0-9_]+` \\|([^|]*)\\|.*"))) continue;
    const std::string cell = row[1];
    const std::regex name("`([a-z0-9_]+)`");
    for (std::sregex_iterator i(cell.begin(), cell.end(), name), end; i != end; ++i) names.insert((*i)[1]);
  }
  return names;
}

TEST(AllOps, AreThoseOfTheReadme) {
  const OpSet ops = all_ops();
  const std::vector<std::string_view> names = ops.table().names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), ops_in_readme());
}

TEST(AllOps, EachHasACpuKernelAsItsLastResort) {
  const OpSet ops = all_ops();
  for (const std::string_view name : ops.table().names()) {
    const std::vector<KernelEntry>& kernels = ops.kernels(name);
    if (name == "pack") {
      EXPECT_TRUE(kernels.empty()) << "the kernel that wants a packed input packs it";
      continue;
    }
    ASSERT_FALSE(kernels.empty()) << name;
    EXPECT_EQ(kernels.back().device, KernelDevice::cpu) << name;
  }
}

TEST(AllOps, KernelNamesAreDistinctWithinAnOp) {
  const OpSet ops = all_ops();
  for (const std::string_view name : ops.table().names()) {
    std::set<std::string> kernels;
    for (const KernelEntry& entry : ops.kernels(name)) EXPECT_TRUE(kernels.insert(entry.name).second) << entry.name;
  }
}

}  // namespace
}  // namespace tidemark::ops
