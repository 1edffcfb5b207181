// --record-calls and --memory-snapshot as a user has them: files that other commands and programs read.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "memory/call_trace/call_trace.h"
#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

using Json = nlohmann::json;

class AllocatorRecords : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "allocator_records";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::string words;
    for (int i = 0; i < 400; ++i) words += std::string(static_cast<size_t>(1 + i * 7 % 19), 'a') + "\n";
    write_file(folder_ + "/words.txt", words);
    write_file(in("lines.yaml"),
               "model: {kind: lstm, layers: 1, width: 16, embedding: 8}\ndata: {kind: lines, path: words.txt}\n"
               "train: {global_batch: 8, steps: 12, threads: 1, eval_every: 1000}\nmemory: {budget: 128MiB}\n"
               "device: cpu\n");
    write_file(in("verse.yaml"),
               "model: {kind: gpt, layers: 1, heads: 2, width: 16, context: 32}\ndata: {kind: text, path: words.txt}\n"
               "train: {global_batch: 8, steps: 2, threads: 1, eval_every: 1000}\nmemory: {budget: 128MiB}\n"
               "device: cpu\n");
  }
  std::string in(const char* name) const { return folder_ + "/" + name; }
  Finished run(std::vector<std::string> arguments) { return run_program(folder_, arguments); }

  std::string folder_;
};

TEST_F(AllocatorRecords, CallsOfTrainingAreReplayed) {
  const Finished trained = run({"train", "-c", in("lines.yaml"), "--record-calls", in("calls.csv")});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const size_t said = trained.err.find(" event=file_written path=" + in("calls.csv") + "\n");
  EXPECT_NE(said, std::string::npos) << trained.err;
  EXPECT_EQ(said + 1, trained.err.rfind("event=file_written")) << "once";
  const memory::CallTrace trace = memory::read_call_trace_file(in("calls.csv"));
  EXPECT_GT(trace.calls.size(), 100u);
  int64_t live = 0;
  for (const memory::AllocatorCall& call : trace.calls) live += call.is_free() ? -1 : 1;
  EXPECT_EQ(live, 0);
  const Finished replayed = run({"bench", "allocator", in("calls.csv"), "--repeats", "1", "--json"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  const Json row = Json::parse(replayed.out)["traces"][0];
  EXPECT_EQ(row["calls"], trace.calls.size());
  EXPECT_EQ(row["failures"], 0);
  EXPECT_LE(row["bound"].get<int64_t>(), row["peak_reserved"].get<int64_t>());
}

TEST_F(AllocatorRecords, ASnapshotSaysWhereBlocksComeFrom) {
  const Finished trained = run({"train", "-c", in("lines.yaml"), "--memory-snapshot", in("memory.json")});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Json snapshot = Json::parse(read_file(in("memory.json")));
  EXPECT_GT(snapshot["events"].size(), 100u);
  EXPECT_FALSE(snapshot["stacks"].empty());
  EXPECT_TRUE(snapshot.contains("stats"));
  const Finished traced =
      run({"generate", "-c", in("verse.yaml"), "--tokens", "5", "--memory-snapshot", in("memory.trace.json")});
  ASSERT_EQ(traced.exit_code, 0) << traced.err;
  EXPECT_FALSE(Json::parse(read_file(in("memory.trace.json")))["traceEvents"].empty());
}

TEST_F(AllocatorRecords, SoakWritesThemToo) {
  const Finished training =
      run({"soak", "-c", in("lines.yaml"), "--steps", "6", "--record-calls", in("soak.csv"), "--json"});
  ASSERT_EQ(training.exit_code, 0) << training.err;
  EXPECT_GT(memory::read_call_trace_file(in("soak.csv")).calls.size(), 50u);
  const Finished requests = run({"soak", "-c", in("verse.yaml"), "--generate", "--steps", "3", "--tokens", "4",
                                 "--memory-snapshot", in("soak.json"), "--json"});
  ASSERT_EQ(requests.exit_code, 0) << requests.err;
  EXPECT_FALSE(Json::parse(read_file(in("soak.json")))["events"].empty());
}

TEST_F(AllocatorRecords, ARunWithoutAnAllocatorSaysSo) {
  const Finished trained = run({"train", "-c", in("verse.yaml"), "--record-calls", in("calls.csv")});
  EXPECT_EQ(trained.exit_code, 2);
  EXPECT_NE(trained.err.find("planned arena"), std::string::npos) << trained.err;
  EXPECT_FALSE(std::filesystem::exists(in("calls.csv")));
}

TEST_F(AllocatorRecords, AFileThatCannotBeWrittenIsAnError) {
  const Finished trained = run({"train", "-c", in("lines.yaml"), "--record-calls", in("nowhere/calls.csv")});
  EXPECT_EQ(trained.exit_code, 1);
  EXPECT_NE(trained.err.find("nowhere/calls.csv"), std::string::npos) << trained.err;
  EXPECT_EQ(trained.err.find("step 12"), std::string::npos) << "found out only at the end";
}

}  // namespace
}  // namespace tidemark::tests
