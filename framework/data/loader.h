// The order of samples and the batches that training sees: deterministic, resumable, prefetched.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/data/dataset.h"

namespace tidemark::data {

// Where the sampler stands: enough to resume. A function of it alone: sample order is a Philox permutation keyed by
// (seed, epoch); the position counts samples inside the epoch.
struct SamplerPosition {
  int64_t epoch = 0;
  int64_t offset = 0;
  bool operator==(const SamplerPosition&) const = default;
};

// One global batch on the host: `samples` consecutive samples of the epoch's order (fewer in the last one of an epoch).
struct HostBatch {
  SamplerPosition begin;  // position of the first sample
  SamplerPosition end;    // where the next batch begins
  int64_t samples = 0;
  int64_t targets = 0;  // sum of Dataset::targets: the denominator of the loss
  std::vector<std::vector<std::byte>>
      fields;  // by InputField, `samples` rows valid; global_batch rows allocated, or all samples
};

class Loader {
 public:
  struct Options {
    int64_t global_batch = 1;
    uint64_t seed = 1;
    bool shuffle = true;  // false for evaluation: index order
    Split split = Split::train;
    int prefetch = 2;  // batches read ahead by one thread; all host memory is allocated by the constructor
  };

  // `dataset` must outlive the loader. Starts at `begin`.
  Loader(const Dataset& dataset, Options options, SamplerPosition begin = {});
  ~Loader();

  // Blocks until the next batch is there; the reference is valid until the next call. Rethrows what reading threw.
  // A train loader never ends (a new epoch follows); batches do not cross epochs.
  const HostBatch& next();
  int64_t batches_per_epoch() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tidemark::data
