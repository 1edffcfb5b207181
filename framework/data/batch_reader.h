// Reads the samples of one batch into host memory: side by side, or packed where they differ in length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/data/dataset.h"
#include "framework/data/loader.h"

namespace tidemark::data {

// One thread at a time. Allocates when it is made and in make_batch(), never in read().
class BatchReader {
 public:
  // `dataset` must outlive the reader. Batches have up to `global_batch` samples in parts of `micro_batch`.
  BatchReader(const Dataset& dataset, Split split, int64_t global_batch, int64_t micro_batch);

  // An empty batch with memory for the largest one.
  HostBatch make_batch() const;
  // Replaces all of `batch` but its positions: samples `indices` in the order that parts and packing ask for.
  void read(std::span<const uint32_t> indices, HostBatch& batch);

 private:
  struct Place {  // of a sample in a part
    int64_t length = 0;
    int32_t id = 0;  // in the batch
  };

  void read_part(std::span<const uint32_t> indices, int32_t first_id, HostBatch& batch);
  void order_by_length();
  int64_t lay_out_steps();
  void read_sample(uint32_t index, int64_t sample, HostBatch& batch);
  void scatter_rows(int64_t sample_in_part, int64_t length, int64_t first_row, HostBatch& batch) const;
  void clear_rest(HostBatch& batch) const;
  int64_t row_bytes(size_t field) const { return info_.fields[field].sample.bytes(); }

  const Dataset& dataset_;
  const DataInfo& info_;
  Split split_;
  int64_t global_batch_;
  int64_t micro_batch_;
  int64_t most_rows_;
  std::vector<std::byte*> destinations_;         // by field, of the sample that is read
  std::vector<std::vector<std::byte>> samples_;  // by field: the rows of one sample, before they are scattered
  std::vector<Place> places_;                    // of the part that is read
  std::vector<int64_t> step_begin_;              // by step: its first row, counted from the part's
};

}  // namespace tidemark::data
