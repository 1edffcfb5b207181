// A run of two small tensors whose bytes follow from the step, for the tests of saving and loading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/checkpoint/checkpoint.h"

namespace tidemark::checkpoint {

class SmallRun {
 public:
  explicit SmallRun(int64_t step = 0, int64_t elements = 1000);

  int64_t step() const { return step_; }
  void advance_to(int64_t step);
  Manifest manifest() const;
  std::vector<TensorView> views() const;
  std::vector<TensorTarget> targets();
  bool operator==(const SmallRun&) const = default;

  std::string save_to(const std::string& dir, const SaveOptions& options = {}) const;
  // The run as the checkpoint has it.
  static SmallRun loaded_from(const Checkpoint& checkpoint, int64_t elements = 1000);

 private:
  int64_t step_;
  std::vector<float> weights_;
  std::vector<int32_t> counters_;
};

// Replaces a file without flushing it, for tests that write thousands.
void write_unflushed(const std::string& path, const std::string& contents);

// A fresh, empty folder for the running test.
std::string test_folder();

}  // namespace tidemark::checkpoint
