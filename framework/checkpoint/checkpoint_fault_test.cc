// Promise 6, nothing lost: a checkpoint folder is usable whatever moment the process dies at and whatever a disk
// refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "framework/checkpoint/checkpoint.h"
#include "framework/checkpoint/testing/small_run.h"

namespace tidemark::checkpoint {
namespace {

namespace fs = std::filesystem;

// Runs `body` in a child process and waits for its end; the child must not return into the test framework.
int status_of_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// Names of the moments between the steps of one save of `run` into `dir`.
std::vector<std::string> moments_of_saving(const SmallRun& run, const std::string& dir) {
  std::vector<std::string> moments;
  run.save_to(dir, {.keep = 1, .observer = [&](std::string_view what) { moments.emplace_back(what); }});
  return moments;
}

void expect_whole(const std::string& dir, const std::vector<int64_t>& allowed_steps, const std::string& context) {
  const auto found = find_newest(dir);
  ASSERT_NE(found, nullptr) << context;
  EXPECT_THAT(allowed_steps, testing::Contains(found->manifest().step)) << context;
  EXPECT_EQ(SmallRun::loaded_from(*found), SmallRun(found->manifest().step)) << context;
}

TEST(CheckpointFaults, KilledAtAnyMomentOfSavingLeavesTheOldOrTheNewOne) {
  const std::string rehearsal = test_folder() + "/rehearsal";
  SmallRun(1).save_to(rehearsal);
  const std::vector<std::string> moments = moments_of_saving(SmallRun(2), rehearsal);
  EXPECT_THAT(moments,
              testing::IsSupersetOf({"clean", "piece", "tensors", "manifest", "rename", "publish", "hide", "remove"}));

  for (size_t deadly = 0; deadly < moments.size(); ++deadly) {
    const std::string dir = test_folder() + "/killed" + std::to_string(deadly);
    SmallRun(1).save_to(dir);
    size_t moment = 0;
    const int status = status_of_child([&] {
      SmallRun(2).save_to(dir, {.keep = 1, .observer = [&](std::string_view) {
                                  if (moment++ == deadly) kill(getpid(), SIGKILL);
                                }});
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << moments[deadly];
    const bool published =
        deadly >= static_cast<size_t>(std::find(moments.begin(), moments.end(), "rename") - moments.begin());
    expect_whole(dir, {published ? 2 : 1}, "killed after " + moments[deadly]);
    // The next save works and clears up.
    SmallRun(3).save_to(dir, {.keep = 1});
    expect_whole(dir, {3}, "after " + moments[deadly]);
    EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1) << moments[deadly];
  }
}

TEST(CheckpointFaults, KilledAtRandomTimesNothingThatWasSavedIsLost) {
  const std::string dir = test_folder() + "/run";
  const auto begin = std::chrono::steady_clock::now();
  SmallRun(0).save_to(test_folder() + "/timed");
  const std::chrono::duration<double, std::micro> save_us = std::chrono::steady_clock::now() - begin;
  std::uniform_real_distribution<double> wait_us(0.0, 4.0 * save_us.count());
  std::mt19937 random(5);
  int64_t saved = -1;
  // A busy machine saves slower than the first save was timed: later rounds give more time.
  for (int round = 0; round < 20 || (saved <= 2 && round < 200); ++round) {
    int reports[2];
    ASSERT_EQ(pipe(reports), 0);
    const pid_t child = fork();
    if (child == 0) {
      for (int64_t step = saved + 1;; ++step) {
        SmallRun(step).save_to(dir, {.keep = 2});
        if (write(reports[1], &step, sizeof step) != sizeof step) _exit(1);
      }
    }
    close(reports[1]);
    usleep(static_cast<useconds_t>(wait_us(random) * (1 + round / 5)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    int64_t step = 0;
    while (read(reports[0], &step, sizeof step) == sizeof step) saved = step;
    close(reports[0]);
    if (saved < 0 && list_checkpoints(dir).empty()) continue;  // killed before the first one stood
    expect_whole(dir, {std::max<int64_t>(saved, 0), saved + 1}, "round " + std::to_string(round));
    saved = find_newest(dir)->manifest().step;
  }
  EXPECT_GT(saved, 2);
}

TEST(CheckpointFaults, AFileCutAtAnyByteMakesTheOneBeforeTheNewest) {
  const std::string dir = test_folder();
  SmallRun(1).save_to(dir);
  SmallRun(2).save_to(dir);
  for (const char* name : {"tensors.safetensors", "manifest.json"}) {
    const std::string path = dir + "/step-00000002/" + name;
    const std::string good = read_file(path);
    const size_t last = good.find_last_not_of("\n ");  // the manifest's last line end does not matter
    for (size_t bytes = 0; bytes <= last; bytes += 1 + bytes / 7) {
      fs::resize_file(path, bytes);
      expect_whole(dir, {1}, std::string(name) + " cut at " + std::to_string(bytes));
      write_unflushed(path, good);
    }
    expect_whole(dir, {2}, name);
  }
}

TEST(CheckpointFaults, AFullDiskIsAnErrorAndLeavesTheOldOne) {
  const std::string dir = test_folder() + "/full";
  SmallRun(1).save_to(dir);
  for (const rlim_t limit_bytes : {0, 100, 4000}) {  // the tensors take over 4000, the manifest under
    const int status = status_of_child([&] {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{limit_bytes, limit_bytes};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
      try {
        SmallRun(2).save_to(dir);
        _exit(4);
      } catch (const Error& e) {
        _exit(e.code() == ErrorCode::io && std::string(e.what()).find("tensors") != std::string::npos ? 0 : 5);
      }
    });
    EXPECT_EQ(WEXITSTATUS(status), 0) << limit_bytes;
    expect_whole(dir, {1}, "full at " + std::to_string(limit_bytes));
    EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1) << "something was left over";
  }
}

TEST(CheckpointFaults, AFolderThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const std::string path = test_folder() + "/file";
  replace_file(path, "x");
  try {
    SmallRun(1).save_to(path);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::io);
    EXPECT_THAT(e.what(), testing::HasSubstr(path));
  }
}

TEST(CheckpointFaults, SavingTakesLessThanAMebibyteOfHostMemoryBesidesTheTensors) {
  const std::string dir = test_folder();
  constexpr int64_t kElements = 8 << 20;
  const int status = status_of_child([&] {
    const SmallRun run(1, kElements);
    run.save_to(dir);  // what libraries allocate once is not counted
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    run.save_to(dir);
    getrusage(RUSAGE_SELF, &after);
    const int64_t grown_kib = after.ru_maxrss - before.ru_maxrss;
    _exit(grown_kib < 1024 ? 0 : 1);
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tidemark::checkpoint
