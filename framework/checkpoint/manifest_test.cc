#include "framework/checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Manifest example() {
  Manifest m;
  m.step = 1234567890123;
  m.sampler = {3, 640};
  m.seed = 0xFFFFFFFFFFFFFFFF;
  m.config_yaml =
      "model:\n  kind: gpt\n  layers: 6\ntrain:\n  lr: 0.001\n  steps: 10\nmemory:\n  micro_batch: 8\n  budget: "
      "\"\"\ndevice: auto\n";
  m.optimizer = "adamw";
  m.plan_digest = "p";
  m.kernels_digest = "k";
  m.threads = 2;
  m.device = "cpu";
  m.state = {{"best_loss", "0x1.8p+0"}};
  m.tensors_sha256 = "abc";
  return m;
}

std::string fault(const std::string& text) {
  try {
    manifest_from_json(text, "m.json");
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data);
    return e.what();
  }
}

TEST(Manifest, ReadsBackAsItWas) { EXPECT_EQ(manifest_from_json(to_json(example()), "m"), example()); }

TEST(Manifest, TextThatIsNoUtf8IsSavedReadably) {
  Manifest m = example();
  m.config_yaml = "data:\n  path: \xff\n";
  EXPECT_THAT(manifest_from_json(to_json(m), "m").config_yaml, HasSubstr("path: "));
}

TEST(Manifest, CutAnywhereItIsRefused) {
  const std::string text = to_json(example());
  const size_t last_brace = text.rfind('}');
  for (size_t bytes = 0; bytes <= last_brace; ++bytes) EXPECT_THAT(fault(text.substr(0, bytes)), HasSubstr("m.json: "));
}

TEST(Manifest, EveryChangedCharacterThatMattersIsNoticed) {
  const std::string text = to_json(example());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    try {
      EXPECT_EQ(manifest_from_json(damaged, "m.json"), example()) << "character " << i;
    } catch (const Error&) {
    }
  }
}

TEST(Manifest, OtherVersionsAreRefused) {
  std::string text = to_json(example());
  text.replace(text.find("\"format_version\": 1"), 19, "\"format_version\": 2");
  EXPECT_EQ(fault(text), "m.json: format version 2, this program reads 1");
}

TEST(Manifest, DifferencesNameWhatChangesResultsAndNothingElse) {
  const Manifest saved = example();
  EXPECT_THAT(differences(saved, saved), ElementsAre());

  Manifest now = saved;
  now.step = 5;
  now.plan_digest = "other";
  now.config_yaml =
      "model:\n  kind: gpt\n  layers: 6\ntrain:\n  lr: 0.002\n  steps: 99\nmemory:\n  micro_batch: 4\n  budget: "
      "1GiB\nmetrics:\n  listen: \"a:1\"\ndevice: cpu\n";
  now.threads = 4;
  EXPECT_THAT(differences(saved, now),
              ElementsAre("threads: saved 2, now 4", "memory.micro_batch: saved 8, now 4",
                          "train.lr: saved 0.001, now 0.002", "train.steps: saved 10, now 99"));
  // With a constant learning rate the length of the run changes nothing that was done.
  Manifest constant = saved, longer = saved;
  constant.config_yaml = "train:\n  schedule: constant\n  steps: 10\n";
  longer.config_yaml = "train:\n  schedule: constant\n  steps: 99\n";
  EXPECT_THAT(differences(constant, longer), ElementsAre());
  now = saved;
  now.kernels_digest = "";
  now.config_yaml += "train:\n  clip_norm: 1.0\n";
  EXPECT_THAT(differences(saved, now),
              ElementsAre("kernels: saved k, now none", "train.clip_norm: saved none, now 1.0"));
}

}  // namespace
}  // namespace tidemark::checkpoint
