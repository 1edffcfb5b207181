#include "framework/checkpoint/testing/small_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tidemark::checkpoint {

SmallRun::SmallRun(int64_t step, int64_t elements)
    : step_(step), weights_(static_cast<size_t>(elements)), counters_(3) {
  advance_to(step);
}

void SmallRun::advance_to(int64_t step) {
  step_ = step;
  for (size_t i = 0; i < weights_.size(); ++i) weights_[i] = static_cast<float>(step) + 0.001f * static_cast<float>(i);
  for (int32_t& counter : counters_) counter = static_cast<int32_t>(step);
}

Manifest SmallRun::manifest() const {
  Manifest manifest;
  manifest.step = step_;
  manifest.sampler = {step_ / 10, step_ % 10};
  manifest.config_yaml = "train:\n  lr: 0.1\n";
  return manifest;
}

std::vector<TensorView> SmallRun::views() const {
  const ValueType weights{DType::f32, Shape{static_cast<int64_t>(weights_.size())}};
  return {{"weights", weights, std::as_bytes(std::span(weights_))},
          {"counters", {DType::i32, {3}}, std::as_bytes(std::span(counters_))}};
}

std::vector<TensorTarget> SmallRun::targets() {
  std::vector<TensorTarget> targets;
  for (const TensorView& view : views()) {
    targets.push_back({view.name, view.type, {const_cast<std::byte*>(view.bytes.data()), view.bytes.size()}});
  }
  return targets;
}

std::string SmallRun::save_to(const std::string& dir, const SaveOptions& options) const {
  return save(dir, manifest(), views(), options);
}

SmallRun SmallRun::loaded_from(const Checkpoint& checkpoint, int64_t elements) {
  SmallRun run(0, elements);
  checkpoint.load(run.targets());
  run.step_ = checkpoint.manifest().step;
  return run;
}

void write_unflushed(const std::string& path, const std::string& contents) {
  std::filesystem::remove(path);  // cutting a file to nothing flushes on some file systems
  std::ofstream out(path, std::ios::binary);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
}

std::string test_folder() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const auto path = std::filesystem::path(testing::TempDir()) / (std::string(info->test_suite_name()) + info->name());
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

}  // namespace tidemark::checkpoint
