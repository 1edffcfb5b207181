#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"

namespace tidemark {
namespace {

std::string path_of(const std::string& name) { return testing::TempDir() + "file_test_" + name; }

template <class Body>
std::string io_error(Body body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::io);
    return e.what();
  }
  return "no error";
}

TEST(ReadFile, GivesBackWhatWasWritten) {
  const std::string path = path_of("round_trip");
  const std::string contents("a\0b\nc", 5);
  replace_file(path, contents);
  EXPECT_EQ(read_file(path), contents);
  replace_file(path, "");
  EXPECT_EQ(read_file(path), "");
}

TEST(ReadFile, ReadsFilesWhoseSizeTheSystemDoesNotKnow) {
  EXPECT_NE(read_file("/proc/self/status").find("\nVmRSS:"), std::string::npos);
}

TEST(ReadFile, NamesPathAndReason) {
  EXPECT_EQ(io_error([] { read_file("/nonexistent/x"); }), "cannot open '/nonexistent/x': No such file or directory");
  EXPECT_EQ(io_error([] { read_file("/tmp"); }), "cannot read '/tmp': Is a directory");
}

TEST(FileReplacement, OldFileStaysUntilCommit) {
  const std::string path = path_of("old_stays");
  replace_file(path, "old");
  {
    FileReplacement file(path);
    file.write("ne", 2);
    file.write("w", 1);
    EXPECT_EQ(read_file(path), "old");
    EXPECT_EQ(file.written_bytes(), 3);
    file.commit();
  }
  EXPECT_EQ(read_file(path), "new");
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(FileReplacement, AbandonedWriteLeavesNothing) {
  const std::string path = path_of("abandoned");
  replace_file(path, "old");
  {
    FileReplacement file(path);
    file.write("new", 3);
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(FileReplacement, DeathBeforeRenameLeavesTheOldFileAndTheNextWriterRecovers) {
  const std::string path = path_of("killed");
  replace_file(path, "old");
  const pid_t child = fork();
  if (child == 0) {
    FileReplacement file(path);
    file.write("half of the new one", 19);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_TRUE(std::filesystem::exists(path + ".partial"));
  replace_file(path, "new");
  EXPECT_EQ(read_file(path), "new");
}

TEST(FileReplacement, FullDeviceIsAnErrorThatNamesTheFile) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const std::string path = path_of("full");
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".partial");
  std::filesystem::create_symlink("/dev/full", path + ".partial");
  EXPECT_EQ(io_error([&] { replace_file(path, "x"); }), "cannot write '" + path + ".partial': No space left on device");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FileReplacement, MissingDirectoryIsAnError) {
  EXPECT_EQ(io_error([] { replace_file("/nonexistent/x", "x"); }),
            "cannot create '/nonexistent/x.partial': No such file or directory");
}

}  // namespace
}  // namespace tidemark
