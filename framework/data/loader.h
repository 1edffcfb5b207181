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

// One micro-batch inside a HostBatch: ranges of its samples and of its rows.
//
// Packed data lies time-major: samples are ordered by length, the longest first (equal lengths keep the epoch's order),
// and the rows are step 0 of all samples, then step 1 of those that are longer than 1, and so on. Row t of the part's
// sample i is thus `first_row` + (rows of the steps before t) + i; each step is one contiguous matrix, and step t's
// samples are the first of step t - 1's. No row is padding.
struct PackedPart {
  int64_t first_sample = 0;
  int64_t samples = 0;
  int64_t first_row = 0;
  int64_t rows = 0;  // sum of the samples' lengths; 0 where data is not packed
  bool operator==(const PackedPart&) const = default;
};

// One global batch on the host: `samples` consecutive samples of the epoch's order (fewer in the last one of an epoch).
struct HostBatch {
  SamplerPosition begin;  // position of the first sample
  SamplerPosition end;    // where the next batch begins
  int64_t samples = 0;
  int64_t rows = 0;     // of all parts; 0 where data is not packed
  int64_t targets = 0;  // sum of Dataset::targets: the denominator of the loss
  // By InputField: `samples` (of per_row fields `rows`) valid, zero behind them. Allocated for global_batch samples, or
  // all there are; of per_row fields for most_rows().
  std::vector<std::vector<std::byte>> fields;
  std::vector<PackedPart> parts;  // the micro-batches in order
  // By sample, in the order of the fields: its place in the epoch's order, counted from `begin`. What is drawn for a
  // sample hangs on it, not on where packing put the sample.
  std::vector<int32_t> sample_ids;
};

// The most rows that `samples` samples of a split can have: the sum of that many of its greatest lengths. 0 where data
// is not packed.
int64_t most_rows(const Dataset& dataset, Split split, int64_t samples);

class Loader {
 public:
  struct Options {
    int64_t global_batch = 1;
    int64_t micro_batch = 0;  // samples of a part, the last one may be smaller; 0: all of them
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
