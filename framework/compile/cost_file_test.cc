// Who may write a cost file, and what is said when it cannot be written.
#include "framework/compile/cost_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace tidemark::compile {
namespace {

class CostFileTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }

  static std::string refusal(const std::string& path) {
    try {
      const CostFileWriter writer(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      return error.what();
    }
    return "nothing was refused";
  }

  const std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / "cost_file" /
                                        ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = (folder_ / "costs.json").string();
};

// A process that is the writer of a file until it is killed.
class OtherWriter {
 public:
  explicit OtherWriter(const std::string& path) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    id_ = fork();
    if (id_ == 0) {
      const CostFileWriter writer(path);
      if (write(ends[1], "!", 1) == 1) pause();
      _exit(0);
    }
    char ready = 0;
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    close(ends[1]);
  }
  ~OtherWriter() { kill(); }
  OtherWriter(const OtherWriter&) = delete;
  OtherWriter& operator=(const OtherWriter&) = delete;

  pid_t id() const { return id_; }
  void kill() {
    if (is_killed_) return;
    ::kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    is_killed_ = true;
  }

 private:
  pid_t id_ = 0;
  bool is_killed_ = false;
};

TEST_F(CostFileTest, FiguresAreAddedAndThoseThatAreThereStay) {
  CostFileWriter(path_).add({{"a", 1}, {"b", 2}});
  CostFileWriter(path_).add({{"b", 3}, {"c", 4}});
  EXPECT_EQ(read_cost_file(path_), (CostFigures{{"a", 1}, {"b", 2}, {"c", 4}}));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
}

TEST_F(CostFileTest, FiguresThatArePutReplaceTheirNamesakesAlone) {
  CostFileWriter(path_).add({{"a", 1}, {"b", 2}});
  CostFileWriter(path_).put({{"b", 3}, {"c", 4}});
  EXPECT_EQ(read_cost_file(path_), (CostFigures{{"a", 1}, {"b", 3}, {"c", 4}}));
}

TEST_F(CostFileTest, AWriterThatWaitsSaysForWhomAndOneThatDiesIsNoLongerIt) {
  OtherWriter other(path_);
  std::vector<pid_t> told;
  const CostFileWriter writer(path_, [&](pid_t id) {
    told.push_back(id);
    other.kill();
  });
  EXPECT_EQ(told, std::vector<pid_t>{other.id()});
}

TEST_F(CostFileTest, NoOneIsToldWhereNoOneWaits) {
  { OtherWriter gone(path_); }
  int told = 0;
  const CostFileWriter writer(path_, [&](pid_t) { ++told; });
  EXPECT_EQ(told, 0);
}

TEST_F(CostFileTest, WhatCannotBeWrittenIsRefusedBeforeThereIsAFigure) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "file") << "no folder";
  const std::string beneath = (folder_ / "file" / "costs.json").string();
  EXPECT_EQ(refusal(beneath),
            "cost file '" + beneath + "' cannot be written: Not a directory; name another with memory.cost_file");
  std::filesystem::create_directories(path_ + ".partial/full");
  EXPECT_EQ(refusal(path_), "cost file '" + path_ + "' cannot be written: cannot create '" + path_ +
                                ".partial': Is a directory; name another with memory.cost_file");
  EXPECT_TRUE(read_cost_file(beneath).empty());
}

TEST_F(CostFileTest, FoldersPipesAndDevicesAreNotRead) {
  std::filesystem::create_directories(path_);
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {path_, pipe, std::string("/dev/zero"), std::string("/dev/null")}) {
    try {
      read_cost_file(path);
      ADD_FAILURE() << path << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      EXPECT_EQ(error.what(), "cost file '" + path + "' is no regular file; name another with memory.cost_file");
    }
  }
}

}  // namespace
}  // namespace tidemark::compile
