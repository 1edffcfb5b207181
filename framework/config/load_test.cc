#include "framework/config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "framework/config/field_list.h"
#include "framework/config/print.h"
#include "framework/config/testing/fake_lists.h"

namespace tidemark::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LoadedConfig parse(std::string_view text, const std::vector<std::string>& overrides = {}) {
  return parse_config(text, "c.yaml", "", overrides, fake_lists());
}

// The lines of the error that parsing gives; empty if there is none.
std::vector<std::string> faults(std::string_view text, const std::vector<std::string>& overrides = {}) {
  try {
    parse(text, overrides);
    return {};
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::config);
    std::vector<std::string> lines;
    std::istringstream stream(e.what());
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
}

// Faults of a section whose neighbours are right.
std::vector<std::string> train_faults(const std::string& train) {
  return faults("model: {kind: tiny}\ndata: {kind: noise}\ntrain: {" + train + "}\n");
}

TEST(LoadConfig, DefaultsStandWhereNothingIsGiven) {
  const LoadedConfig loaded = parse("model: {kind: tiny}\ndata: {kind: noise}\n");
  EXPECT_EQ(loaded.config.model->kind(), "tiny");
  EXPECT_EQ(loaded.config.data->kind(), "noise");
  EXPECT_EQ(loaded.config.train.global_batch, 64);
  EXPECT_EQ(loaded.config.memory.micro_batch, 0) << "planning chooses";
  EXPECT_EQ(loaded.config.memory.norm_batch, 0);
  EXPECT_EQ(loaded.config.memory.planner, "best");
  EXPECT_EQ(loaded.config.top.device, "auto");
}

TEST(LoadConfig, ValuesAreReadWithTheirTypes) {
  const LoadedConfig loaded = parse(R"(
model: {kind: norm, stages: [1, 2, 3], wide: true}
data: {kind: noise, samples: 7}
train: {optimizer: sgd, lr: 3.0e-4, nesterov: true, global_batch: 128}
memory: {budget: 90%, micro_batch: 32, debug: true, planner: quick}
device: cuda:1
)");
  EXPECT_EQ(loaded.config.train.optimizer, "sgd");
  EXPECT_DOUBLE_EQ(loaded.config.train.lr, 3e-4);
  EXPECT_TRUE(loaded.config.train.nesterov);
  EXPECT_EQ(loaded.config.memory.budget, "90%");
  EXPECT_TRUE(loaded.config.memory.debug);
  EXPECT_EQ(loaded.config.memory.planner, "quick");
  EXPECT_EQ(loaded.config.memory.norm_batch, 32);
  EXPECT_EQ(loaded.config.top.device, "cuda:1");
  const auto fields = list_fields(*loaded.config.model);
  EXPECT_EQ(std::get<std::vector<int64_t>>(fields[0].value), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_TRUE(std::get<bool>(fields[1].value));
}

TEST(LoadConfig, AllProblemsOfOneFileComeInOneErrorInFileOrder) {
  EXPECT_THAT(faults("model: {kind: tiny, layers: 0, widht: 3}\n"
                     "data: {kind: nosie}\n"
                     "train:\n"
                     "  globl_batch: 12\n"
                     "  lr: fast\n"
                     "  steps: 1.5\n"
                     "  optimizer: adam\n"
                     "memory: {budget: 4GB, budget: 1, debug: 1}\n"
                     "trian: {}\n",
                     {"train.seed=x"}),
              ElementsAre("c.yaml:1:29: key 'model.layers' must be an integer, from 1 to 100, is '0'",
                          "c.yaml:1:32: key 'model.widht' is unknown; nearest is 'model.width'",
                          "c.yaml:2:14: key 'data.kind' must be one of noise, file, is 'nosie'; nearest is 'noise'",
                          "c.yaml:4:3: key 'train.globl_batch' is unknown; nearest is 'train.global_batch'",
                          "c.yaml:5:7: key 'train.lr' must be a number, above 0, is 'fast'",
                          "c.yaml:6:10: key 'train.steps' must be an integer, from 0 to 1000000000, is '1.5'",
                          "c.yaml:7:14: key 'train.optimizer' must be one of adamw, sgd, is 'adam'; nearest is 'adamw'",
                          HasSubstr("c.yaml:8:18: key 'memory.budget' is wrong: size '4GB' has the unknown unit 'GB'"),
                          "c.yaml:8:23: key 'memory.budget' is given twice; first in line 8",
                          "c.yaml:8:41: key 'memory.debug' must be true or false, is '1'",
                          "c.yaml:9:1: key 'trian' is unknown; nearest is 'train'",
                          "--set: key 'train.seed' must be an integer, 0 or more, is 'x'"));
}

TEST(LoadConfig, AShareOfThePeakIsForThePlan) {
  EXPECT_THAT(
      faults("model: {kind: tiny}\ndata: {kind: noise}\nmemory: {budget: 50%peak}\n"),
      ElementsAre("c.yaml:3:18: key 'memory.budget' is wrong: shares of the peak are for `plan --budget`, which "
                  "says how many bytes that is"));
}

TEST(LoadConfig, KeysOfOtherSectionsAndKindsAreNamed) {
  EXPECT_THAT(
      faults("model: {kind: tiny, stages: [1]}\ndata: {kind: noise}\nlr: 0.1\ntrain: {micro_batch: 4, zzz: 1}\n"),
      ElementsAre("c.yaml:1:21: key 'model.stages' is unknown; it is a key of model kind 'norm'",
                  "c.yaml:3:1: key 'lr' is unknown; nearest is 'train.lr'",
                  "c.yaml:4:9: key 'train.micro_batch' is unknown; nearest is 'memory.micro_batch'",
                  "c.yaml:4:25: key 'train.zzz' is unknown"));
}

TEST(LoadConfig, MissingKeysAreNamed) {
  EXPECT_THAT(faults(""), ElementsAre("c.yaml:1:1: key 'model.kind' is missing; it is one of tiny, norm",
                                      "c.yaml:1:1: key 'data.kind' is missing; it is one of noise, file"));
  EXPECT_THAT(faults("model: {kind: tiny}\ndata: {kind: file}\n"),
              ElementsAre("c.yaml:2:7: key 'data.path' is missing: The file."));
  EXPECT_THAT(train_faults("lr:"), ElementsAre("c.yaml:3:9: key 'train.lr' has no value"));
}

TEST(LoadConfig, SyntaxErrorsHaveTheirPlace) {
  EXPECT_THAT(faults("model: {kind: tiny}\ndata: [\n"), ElementsAre(testing::StartsWith("c.yaml:3:1: YAML syntax: ")));
  EXPECT_THAT(faults("model: {kind: tiny}\n  data: 1\n"), ElementsAre(testing::StartsWith("c.yaml:2:")));
  EXPECT_THAT(faults("- a\n"), ElementsAre("c.yaml:1:1: a configuration must be a mapping of sections, is a list"));
}

TEST(LoadConfig, WrongShapesAreNamed) {
  EXPECT_THAT(faults("model: tiny\ndata: {kind: [noise]}\n"),
              ElementsAre("c.yaml:1:1: key 'model.kind' is missing; it is one of tiny, norm",
                          "c.yaml:1:8: section 'model' must be a mapping, is 'tiny'",
                          "c.yaml:2:14: key 'data.kind' must be one of noise, file, is a list"));
  EXPECT_THAT(train_faults("lr: '0.1', steps: [1], global_batch: 99999999999999999999, clip_norm: .inf, momentum: nan"),
              ElementsAre("c.yaml:3:13: key 'train.lr' must be a number, above 0, is the text '0.1'",
                          "c.yaml:3:27: key 'train.steps' must be an integer, from 0 to 1000000000, is a list",
                          testing::StartsWith("c.yaml:3:46: key 'train.global_batch' must be an integer, from 1 to"),
                          "c.yaml:3:79: key 'train.clip_norm' must be a number, 0 or more, is '.inf'",
                          "c.yaml:3:95: key 'train.momentum' must be a number, in [0, 1), is 'nan'"));
  EXPECT_THAT(faults("model: {kind: norm, stages: 3}\ndata: {kind: noise}\n"),
              ElementsAre("c.yaml:1:29: key 'model.stages' must be a list of integers such as [64, 128], is '3'"));
  EXPECT_THAT(faults("model: {kind: norm, stages: [1, 0]}\ndata: {kind: noise}\n"),
              ElementsAre("c.yaml:1:33: key 'model.stages' must be a list of integers, 1 or more, is '0'"));
}

TEST(LoadConfig, ClashesAreReportedWhereTheyStand) {
  EXPECT_THAT(train_faults("momentum: 0.5"), ElementsAre(HasSubstr("it is a key of sgd, train.optimizer is adamw")));
  EXPECT_THAT(train_faults("optimizer: sgd, beta2: 0.95"), ElementsAre(HasSubstr("it is a key of adamw")));
  EXPECT_THAT(train_faults("optimizer: sgd, nesterov: true, momentum: 0"),
              ElementsAre(HasSubstr("needs train.momentum above 0")));
  EXPECT_THAT(train_faults("lr: 0.1, schedule: cosine, min_lr: 0.2"),
              ElementsAre(HasSubstr("must be at most train.lr")));
  EXPECT_THAT(train_faults("min_lr: 0.0001"), ElementsAre(HasSubstr("no effect: train.schedule is constant")));
}

TEST(LoadConfig, BatchSizesMustFitEachOther) {
  const std::string tiny = "model: {kind: tiny}\ndata: {kind: noise}\n";
  const std::string norm = "model: {kind: norm}\ndata: {kind: noise}\n";
  EXPECT_THAT(faults(tiny + "train: {global_batch: 64}\nmemory: {micro_batch: 48}\n"), ElementsAre());
  EXPECT_THAT(faults(tiny + "memory: {micro_batch: 128}\n"),
              ElementsAre("c.yaml:3:23: key 'memory.micro_batch' (128) must be at most train.global_batch (64)"));
  EXPECT_THAT(faults(tiny + "memory: {norm_batch: 32}\n"),
              ElementsAre("c.yaml:3:22: key 'memory.norm_batch' has no effect: model kind 'tiny' has no batch norm"));
  EXPECT_THAT(faults(norm + "memory: {micro_batch: 16}\n"),
              ElementsAre("c.yaml:3:23: key 'memory.micro_batch' (16) must be a multiple of memory.norm_batch (32)"));
  EXPECT_THAT(faults(norm + "train: {global_batch: 50}\n"), ElementsAre()) << "one body, its last group is smaller";
  EXPECT_THAT(faults(norm + "memory: {micro_batch: 16, norm_batch: 8}\n"), ElementsAre());
  EXPECT_EQ(parse(norm + "train: {global_batch: 20}\n").config.memory.norm_batch, 20);
}

TEST(LoadConfig, AClashWithAWrongValueIsNotReportedTwice) {
  EXPECT_THAT(faults("model: {kind: tiny}\ndata: {kind: noise}\ntrain: {global_batch: x}\nmemory: {micro_batch: 48}\n"),
              ElementsAre(HasSubstr("must be an integer")));
}

TEST(LoadConfig, ClashesAndOtherProblemsComeTogether) {
  EXPECT_THAT(train_faults("min_lr: 0.0001, foo: 1"), testing::SizeIs(2));
}

TEST(LoadConfig, AddressDeviceCheckpointAndHeadroomAreChecked) {
  const std::string head = "model: {kind: tiny}\ndata: {kind: noise}\n";
  for (const char* wrong : {"localhost", "'1.2.3.4:'", ":80", "h:70000", "h:1x", "'h:-1'"}) {
    EXPECT_THAT(faults(head + "metrics: {listen: " + wrong + "}\n"), ElementsAre(HasSubstr("must be HOST:PORT")))
        << wrong;
  }
  EXPECT_THAT(faults(head + "metrics: {listen: 'localhost:9464'}\n"), ElementsAre());
  for (const char* wrong : {"gpu", "cuda", "cuda:x", "cuda:99999999999", "'sim:'", "'sim:?size=1'", "'sim:x y'",
                            "'sim:x?size=0'", "'sim:x?size=abc'", "'sim:x?sise=1'"}) {
    EXPECT_THAT(faults(head + "device: " + wrong + "\n"), ElementsAre(HasSubstr("key 'device' is wrong"))) << wrong;
  }
  for (const char* right : {"auto", "cpu", "cuda:12", "sim:a?size=2GiB"}) {
    EXPECT_THAT(faults(head + "device: " + right + "\n"), ElementsAre()) << right;
  }
  EXPECT_THAT(faults(head + "memory: {headroom: 100%}\n"), ElementsAre(HasSubstr("leaves nothing")));
}

TEST(LoadConfig, OverridesWinAndMayMakeSections) {
  const LoadedConfig loaded = parse("model: {kind: tiny}\ntrain: {steps: 5}\n",
                                    {"train.steps=6", "data.kind=noise", "train.lr=1e-3", "model.kind=norm",
                                     "model.stages=[4, 5]", "checkpoint.dir=a=b", "device=cpu", "memory.headroom="});
  EXPECT_EQ(loaded.config.train.steps, 6);
  EXPECT_EQ(loaded.config.checkpoint.dir, "a=b");
  EXPECT_EQ(loaded.config.memory.headroom, "");
  EXPECT_EQ(loaded.config.model->kind(), "norm");
  EXPECT_EQ(loaded.config.top.device, "cpu");
  EXPECT_TRUE(loaded.given.at("train.lr").at.from_command_line());
}

TEST(LoadConfig, WrongOverridesAreReportedAsSuch) {
  EXPECT_THAT(
      faults("model: {kind: tiny}\ndata: {kind: noise}\n", {"train.stesp=1", "train", "=1", "train.lr=[", "train.=3"}),
      ElementsAre("--set: 'train' is not of the form key=value", "--set: '=1' is not of the form key=value",
                  testing::StartsWith("--set: value of 'train.lr': "), "--set: 'train.=3' is not of the form key=value",
                  "--set: key 'train.stesp' is unknown; nearest is 'train.steps'"));
}

TEST(LoadConfig, FilesAreLookedForBesideTheConfigurationFirst) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "config_beside";
  fs::create_directories(folder);
  std::ofstream(folder / "text.txt") << "x";
  std::ofstream(folder / "c.yaml") << "model: {kind: tiny}\ndata: {kind: file, path: text.txt}\n";
  const std::string file = (folder / "c.yaml").string();
  const LoadedConfig loaded = load_config(file, {}, fake_lists());
  EXPECT_EQ(std::get<std::string>(list_fields(*loaded.config.data)[0].value), (folder / "text.txt").string());
  EXPECT_EQ(loaded.file, file);

  try {
    load_config(file, {"data.path=absent.txt"}, fake_lists());
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("--set: key 'data.path' names 'absent.txt', which exists neither"));
  }
}

TEST(LoadConfig, AFileThatIsNotThereIsAConfigurationError) {
  try {
    load_config("no/such.yaml", {}, fake_lists());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::config);
    EXPECT_THAT(e.what(), HasSubstr("no/such.yaml"));
  }
}

TEST(LoadConfig, LaterProblemsArePlacedAtTheirSection) {
  const LoadedConfig loaded = parse("data: {kind: noise}\nmodel: {kind: tiny}\n");
  EXPECT_NO_THROW(loaded.refuse("model", {}));
  try {
    loaded.refuse("model", {"first", "second"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "c.yaml:2:1: first\nc.yaml:2:1: second");
  }
}

}  // namespace
}  // namespace tidemark::config
