#include "framework/data/batch_reader.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>

#include "base/error.h"

namespace tidemark::data {
namespace {

int64_t longest(const Dataset& dataset, Split split) {
  int64_t length = 1;
  for (int64_t i = 0; i < dataset.size(split); ++i) length = std::max(length, dataset.length(split, i));
  return length;
}

}  // namespace

int64_t most_rows(const Dataset& dataset, Split split, int64_t samples) {
  if (!dataset.info().packed) return 0;
  std::vector<int64_t> lengths(static_cast<size_t>(dataset.size(split)));
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = dataset.length(split, static_cast<int64_t>(i));
  const auto count = static_cast<ptrdiff_t>(std::clamp<int64_t>(samples, 0, dataset.size(split)));
  std::nth_element(lengths.begin(), lengths.begin() + count, lengths.end(), std::greater<>());
  return std::accumulate(lengths.begin(), lengths.begin() + count, int64_t{0});
}

BatchReader::BatchReader(const Dataset& dataset, Split split, int64_t global_batch, int64_t micro_batch)
    : dataset_(dataset),
      info_(dataset.info()),
      split_(split),
      global_batch_(std::min(global_batch, dataset.size(split))),
      micro_batch_(micro_batch > 0 ? std::min(micro_batch, global_batch_) : global_batch_),
      most_rows_(most_rows(dataset, split, global_batch_)),
      destinations_(info_.fields.size()),
      samples_(info_.fields.size()),
      places_(static_cast<size_t>(micro_batch_)) {
  if (!info_.packed) return;
  const int64_t steps = longest(dataset, split);
  step_begin_.resize(static_cast<size_t>(steps));
  for (size_t f = 0; f < samples_.size(); ++f) {
    if (info_.fields[f].per_row) samples_[f].resize(static_cast<size_t>(steps * row_bytes(f)));
  }
}

HostBatch BatchReader::make_batch() const {
  HostBatch batch;
  for (size_t f = 0; f < info_.fields.size(); ++f) {
    batch.fields.emplace_back(
        static_cast<size_t>((info_.fields[f].per_row ? most_rows_ : global_batch_) * row_bytes(f)));
  }
  batch.parts.reserve(static_cast<size_t>((global_batch_ + micro_batch_ - 1) / micro_batch_));
  batch.sample_ids.reserve(static_cast<size_t>(global_batch_));
  return batch;
}

void BatchReader::read(std::span<const uint32_t> indices, HostBatch& batch) {
  batch.samples = batch.rows = batch.targets = 0;
  batch.parts.clear();
  batch.sample_ids.clear();
  for (size_t first = 0; first < indices.size(); first += static_cast<size_t>(micro_batch_)) {
    const size_t count = std::min(indices.size() - first, static_cast<size_t>(micro_batch_));
    read_part(indices.subspan(first, count), static_cast<int32_t>(first), batch);
  }
  clear_rest(batch);
}

void BatchReader::read_part(std::span<const uint32_t> indices, int32_t first_id, HostBatch& batch) {
  places_.resize(indices.size());
  for (size_t i = 0; i < indices.size(); ++i)
    places_[i] = {dataset_.length(split_, indices[i]), first_id + static_cast<int32_t>(i)};
  PackedPart part{batch.samples, static_cast<int64_t>(indices.size()), batch.rows, 0};
  if (info_.packed) {
    order_by_length();
    part.rows = lay_out_steps();
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    const uint32_t index = indices[static_cast<size_t>(places_[i].id - first_id)];
    read_sample(index, part.first_sample + static_cast<int64_t>(i), batch);
    if (info_.packed) scatter_rows(static_cast<int64_t>(i), places_[i].length, part.first_row, batch);
    batch.targets += dataset_.targets(split_, index);
    batch.sample_ids.push_back(places_[i].id);
  }
  batch.samples += part.samples;
  batch.rows += part.rows;
  batch.parts.push_back(part);
}

void BatchReader::order_by_length() {  // not stable_sort, which allocates; ids decide among equal lengths
  std::sort(places_.begin(), places_.end(),
            [](const Place& a, const Place& b) { return a.length != b.length ? a.length > b.length : a.id < b.id; });
}

// Gives the rows of the part.
int64_t BatchReader::lay_out_steps() {
  size_t active = places_.size();  // samples that are longer than the step
  int64_t rows = 0;
  for (int64_t step = 0; step < places_.front().length; ++step) {
    while (places_[active - 1].length <= step) --active;
    step_begin_[static_cast<size_t>(step)] = rows;
    rows += static_cast<int64_t>(active);
  }
  return rows;
}

void BatchReader::read_sample(uint32_t index, int64_t sample, HostBatch& batch) {
  for (size_t f = 0; f < destinations_.size(); ++f) {
    destinations_[f] = info_.fields[f].per_row ? samples_[f].data() : batch.fields[f].data() + sample * row_bytes(f);
  }
  dataset_.read(split_, index, destinations_);
}

void BatchReader::scatter_rows(int64_t sample_in_part, int64_t length, int64_t first_row, HostBatch& batch) const {
  for (size_t f = 0; f < samples_.size(); ++f) {
    if (!info_.fields[f].per_row) continue;
    const auto bytes = static_cast<size_t>(row_bytes(f));
    for (int64_t step = 0; step < length; ++step) {
      const int64_t row = first_row + step_begin_[static_cast<size_t>(step)] + sample_in_part;
      std::memcpy(batch.fields[f].data() + static_cast<size_t>(row) * bytes,
                  samples_[f].data() + static_cast<size_t>(step) * bytes, bytes);
    }
  }
}

// What lies past the last sample is zero, never left over from an earlier batch.
void BatchReader::clear_rest(HostBatch& batch) const {
  for (size_t f = 0; f < destinations_.size(); ++f) {
    const int64_t valid = info_.fields[f].per_row ? batch.rows : batch.samples;
    std::vector<std::byte>& field = batch.fields[f];
    std::fill(field.begin() + static_cast<ptrdiff_t>(valid * row_bytes(f)), field.end(), std::byte{0});
  }
}

}  // namespace tidemark::data
