// Checkpoints of a training run: one before the first step, then every N steps and at the end; and the way back.
#pragma once

#include <string>

#include "framework/checkpoint/checkpoint.h"
#include "framework/train/training_run.h"

namespace tidemark::train {

struct CheckpointOptions {
  std::string dir;      // empty: no checkpoints
  int64_t every = 200;  // steps
  int64_t keep = 3;
};

// Holds a folder for one run while it lives; the system gives it back when the process ends, however it ends.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Makes the folder if it is not there. Throws Error(io) if that fails or another run has the folder. Once.
  void lock(const std::string& dir);

 private:
  int descriptor_ = -1;
};

class RunCheckpoints {
 public:
  // `config_yaml`: the resolved configuration. Both references must outlive the object.
  RunCheckpoints(CheckpointOptions options, std::string config_yaml, std::string device, const PlannedRun& planned,
                 TrainingRun& run);

  bool enabled() const { return !options_.dir.empty(); }
  // Takes the folder for this run; call it first. Throws Error(io) if another run has it.
  void lock_folder();
  // Throws Error(config) if the folder holds checkpoints of an earlier run, which a new run would push out.
  void refuse_used_folder() const;
  // Removes the checkpoints of an earlier run.
  void remove_earlier() const;

  // Loads the newest whole one into the run's tensors, sampler and counters, straight into the arena. What cannot be
  // kept (other thread count, other kernels, ...) is logged line by line. False if the folder holds none.
  bool resume();

  // Saves if a multiple of `every` steps is done, or if none was saved yet.
  void save_if_due();
  // Saves unless the last one is of this step.
  void save_now();

 private:
  checkpoint::Manifest manifest() const;

  const CheckpointOptions options_;
  const std::string config_yaml_;
  const std::string device_;
  const PlannedRun& planned_;
  TrainingRun& run_;
  FolderLock lock_;
  int64_t saved_step_ = -1;
};

}  // namespace tidemark::train
