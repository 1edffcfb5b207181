#include "device/host_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace tidemark {
namespace {

TEST(HostProcesses, CountsAnonymousPagesOfOthers) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "proc_root";
  const auto write = [&](const std::string& pid, const std::string& text) {
    std::filesystem::create_directories(root / "proc" / pid);
    std::ofstream(root / "proc" / pid / "statm") << text;
  };
  write("999999", "1000 300 100 1 0 50 0\n");
  write("999998", "10 5 9 1 0 5 0\n");  // more shared than resident: counts 0
  write("999997", "garbage\n");
  write("self", "1000 1000 0 1 0 50 0\n");  // not a number: not a process
  write(std::to_string(getpid()), "1000 1000 0 1 0 50 0\n");
  EXPECT_EQ(other_processes_bytes(root), 200 * sysconf(_SC_PAGESIZE));
}

// The child alone stands below the root, so that no other process of the machine matters.
TEST(HostProcesses, SeesWhatAChildTakes) {
  constexpr size_t kBytes = 64 << 20;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    void* data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(data, 1, kBytes);
    (void)!write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "child_root";
  const std::string pid = std::to_string(child);
  std::filesystem::create_directories(root / "proc");
  std::filesystem::create_symlink("/proc/" + pid, root / "proc" / pid);
  const int64_t during = other_processes_bytes(root);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_GE(during, static_cast<int64_t>(kBytes));
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int64_t kMostTimes = 8;  // a sanitizer keeps shadows of what is written
#else
  constexpr int64_t kMostTimes = 2;
#endif
  EXPECT_LT(during, kMostTimes * static_cast<int64_t>(kBytes));
  EXPECT_EQ(other_processes_bytes(root), 0) << "a process that has ended holds nothing";
}

}  // namespace
}  // namespace tidemark
