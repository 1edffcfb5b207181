#include "framework/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "framework/checkpoint/folder_name.h"
#include "framework/checkpoint/testing/small_run.h"

namespace tidemark::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Action>
std::string error_of(Action action) {
  try {
    action();
    return "";
  } catch (const Error& e) {
    return std::string(to_string(e.code())) + ": " + e.what();
  }
}

TEST(Checkpoint, ComesBackAsItWasSaved) {
  const std::string dir = test_folder() + "/made/on/demand";
  const SmallRun run(7);
  EXPECT_EQ(run.save_to(dir), dir + "/step-00000007");
  const auto found = find_newest(dir);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->manifest().sampler, (data::SamplerPosition{0, 7}));
  EXPECT_EQ(SmallRun::loaded_from(*found), run);
}

TEST(Checkpoint, AFolderWithoutAnyGivesNothing) {
  EXPECT_EQ(find_newest(test_folder()), nullptr);
  EXPECT_EQ(find_newest(test_folder() + "/absent"), nullptr);
  EXPECT_THAT(list_checkpoints(test_folder() + "/absent"), ElementsAre());
}

TEST(Checkpoint, TheNewestByStepIsFoundAndTheOldestGo) {
  const std::string dir = test_folder();
  for (const int64_t step : {0, 100, 200, 99'999'999, 1'000'000'000}) SmallRun(step).save_to(dir, {.keep = 3});
  EXPECT_THAT(list_checkpoints(dir),
              ElementsAre(dir + "/step-00000200", dir + "/step-99999999", dir + "/step-1000000000"));
  EXPECT_EQ(find_newest(dir)->manifest().step, 1'000'000'000);
  SmallRun(1'000'000'001).save_to(dir, {.keep = 1});
  EXPECT_THAT(list_checkpoints(dir), ElementsAre(dir + "/step-1000000001"));
}

TEST(Checkpoint, AStepSavedAgainReplacesTheFormerOne) {
  const std::string dir = test_folder();
  for (int i = 0; i < 3; ++i) SmallRun(5).save_to(dir);
  EXPECT_THAT(list_checkpoints(dir), ElementsAre(dir + "/step-00000005.2"));
}

TEST(Checkpoint, ForeignFilesAreLeftAlone) {
  const std::string dir = test_folder();
  for (const char* name : {"step-1", "step-00000001x", "step-00000001.0", "notes.partial", "step-00000001.-1"}) {
    fs::create_directory(dir + "/" + name);
  }
  SmallRun(3).save_to(dir, {.keep = 1});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 6);
  EXPECT_EQ(find_newest(dir)->manifest().step, 3);
}

TEST(Checkpoint, DamagedOnesAreSkippedAndDoNotCountAsKept) {
  const std::string dir = test_folder();
  for (const int64_t step : {1, 2, 3}) SmallRun(step).save_to(dir);
  fs::resize_file(dir + "/step-00000003/" + kTensorFile, 100);
  fs::remove(dir + "/step-00000002/" + kManifestFile);
  EXPECT_EQ(find_newest(dir)->manifest().step, 1);
  SmallRun(4).save_to(dir, {.keep = 2});
  EXPECT_THAT(list_checkpoints(dir), ElementsAre(dir + "/step-00000001", dir + "/step-00000004"));
}

TEST(Checkpoint, NoneWholeIsAnErrorThatSaysWhy) {
  const std::string dir = test_folder();
  SmallRun(1).save_to(dir);
  fs::remove(dir + "/step-00000001/" + kTensorFile);
  EXPECT_THAT(error_of([&] { find_newest(dir); }),
              testing::AllOf(HasSubstr("data: none of the 1 checkpoints in '" + dir), HasSubstr(kTensorFile)));
}

TEST(Checkpoint, AFlippedBitAnywhereInTheTensorsIsNoticed) {
  const std::string dir = test_folder();
  const std::string path = SmallRun(1, 40).save_to(dir) + "/" + kTensorFile;
  const std::string good = read_file(path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    write_unflushed(path, damaged);
    EXPECT_THAT(error_of([&] { Checkpoint(dir + "/step-00000001"); }), testing::StartsWith("data: ")) << "byte " << i;
  }
}

TEST(Checkpoint, TargetsMustMatchByNameAndType) {
  const std::string dir = test_folder();
  SmallRun run(9);
  run.save_to(dir);
  const auto found = find_newest(dir);
  auto targets = SmallRun(0).targets();
  std::vector<std::byte> other(4000);

  auto renamed = targets;
  renamed[0].name = "weight";
  EXPECT_THAT(error_of([&] { found->load(renamed); }), HasSubstr("tensor 'weight' is missing"));
  auto reshaped = targets;
  reshaped[0] = {"weights", {DType::f32, {10, 100}}, other};
  EXPECT_THAT(error_of([&] { found->load(reshaped); }), HasSubstr("is f32[1000], the model wants f32[10,100]"));
  auto retyped = targets;
  retyped[0] = {"weights", {DType::i32, {1000}}, other};
  EXPECT_THAT(error_of([&] { found->load(retyped); }), HasSubstr("the model wants i32[1000]"));
  EXPECT_EQ(other, std::vector<std::byte>(4000));  // nothing was written

  const std::vector<TensorTarget> fewer = {{"weights", {DType::f32, {1000}}, other}};
  EXPECT_THAT(error_of([&] { found->load(fewer); }), HasSubstr("tensor 'counters' has no place"));
  EXPECT_EQ(error_of([&] { found->load(fewer, true); }), "");
  EXPECT_NE(other, std::vector<std::byte>(4000));
}

TEST(FolderName, ReadsBackOnlyWhatItWrites) {
  for (const FolderName name : {FolderName{0, 0}, {12, 3}, {123'456'789'012, 0}}) {
    EXPECT_EQ(parse_folder_name(to_string(name)), name);
    EXPECT_TRUE(is_partial(to_string(name) + kPartialSuffix));
  }
  for (const char* wrong :
       {"", "step-", "step-5", "step-00000005.", "step-00000005.0", "step--0000005", "step-00000005.1.1"}) {
    EXPECT_EQ(parse_folder_name(wrong), std::nullopt) << wrong;
  }
  EXPECT_FALSE(is_partial("x.partial"));
}

}  // namespace
}  // namespace tidemark::checkpoint
