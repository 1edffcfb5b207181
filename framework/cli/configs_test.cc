// The shipped configurations: each loads, and the reference is what the program prints.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "framework/cli/config_command.h"
#include "framework/cli/lists.h"
#include "framework/config/load.h"

namespace tidemark::cli {
namespace {

TEST(Configs, TheReferenceIsCurrent) {
  std::ostringstream printed;
  EXPECT_EQ(execute({.action = ConfigCommand::Action::reference}, all_lists(), printed), 0);
  EXPECT_EQ(read_file("configs/reference.yaml"), printed.str())
      << "run: tools/tidemark config reference > configs/reference.yaml";
}

TEST(Configs, EveryShippedOneIsValid) {
  int checked = 0;
  std::string not_installed;
  for (const auto& entry : std::filesystem::directory_iterator("configs")) {
    if (entry.path().extension() != ".yaml") continue;
    try {
      config::load_config(entry.path().string(), {}, all_lists());
      ++checked;
    } catch (const Error& e) {
      const std::string why = e.what();
      const bool only_data_missing =
          why.find('\n') == std::string::npos && why.find("key 'data.path'") != std::string::npos;
      if (!only_data_missing) ADD_FAILURE() << why;
      not_installed += why + "\n";
    }
  }
  if (!not_installed.empty()) GTEST_SKIP() << "data sets that are not installed:\n" << not_installed;
  EXPECT_GE(checked, 4);
}

}  // namespace
}  // namespace tidemark::cli
