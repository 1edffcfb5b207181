#include "framework/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "framework/data/sample_order.h"

namespace tidemark::data {

// A ring of batches: the reader fills them in order, next() hands them out in order. Counts only grow; slot = count %
// ring. The slot that next() gave out last belongs to the caller until the next call, hence one slot more than is read
// ahead.
struct Loader::State {
  State(const Dataset& data, Options opts, SamplerPosition begin) : dataset(data), options(opts), position(begin) {
    TM_CHECK(options.global_batch >= 1 && options.prefetch >= 1, "loader options");
    size = dataset.size(options.split);
    check_position();
    order.resize(static_cast<size_t>(size));
    allocate_ring();
    start_thread();
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    thread.join();
  }

  void start_thread() {
    try {
      thread = std::thread([this] { read_ahead(); });
    } catch (const std::system_error& e) {
      throw Error(ErrorCode::out_of_memory, std::string("the thread that reads ahead cannot be started: ") + e.what() +
                                                "; look at the limits of threads and address space (ulimit -u, -v)");
    }
  }

  void check_position() {
    if (size > int64_t{UINT32_MAX}) throw Error(ErrorCode::data, "data sets of over 2^32 samples are not supported");
    if (position.epoch < 0 || position.offset < 0 || position.offset > size) {
      throw Error(ErrorCode::data, "sample position " + std::to_string(position.offset) + " of epoch " +
                                       std::to_string(position.epoch) + " lies outside the data set of " +
                                       std::to_string(size) + " samples; was it saved with other data?");
    }
    if (position.offset == size) position = {position.epoch + 1, 0};
  }

  void allocate_ring() {
    ring.resize(static_cast<size_t>(options.prefetch) + 1);
    for (HostBatch& batch : ring) {
      for (const InputField& field : dataset.info().fields) {
        batch.fields.emplace_back(static_cast<size_t>(field.sample.bytes() * std::min(options.global_batch, size)));
      }
    }
    destinations.resize(dataset.info().fields.size());
  }

  void read_ahead() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stopping || filled < taken + options.prefetch; });
      if (stopping) return;
      HostBatch& batch = ring[static_cast<size_t>(filled) % ring.size()];
      lock.unlock();
      try {
        fill(batch);
      } catch (...) {
        lock.lock();
        failure = std::current_exception();
        lock.unlock();
        changed.notify_all();
        return;
      }
      lock.lock();
      ++filled;
      lock.unlock();
      changed.notify_all();
    }
  }

  void fill(HostBatch& batch) {
    if (ordered_epoch != position.epoch) order_epoch(position.epoch);
    batch.begin = position;
    batch.samples = std::min(options.global_batch, size - position.offset);
    batch.targets = 0;
    for (int64_t row = 0; row < batch.samples; ++row) {
      const int64_t index = order[static_cast<size_t>(position.offset + row)];
      read_row(batch, row, index);
      batch.targets += dataset.targets(options.split, index);
    }
    clear_rows(batch, batch.samples);
    position.offset += batch.samples;
    if (position.offset == size) position = {position.epoch + 1, 0};
    batch.end = position;
  }

  void order_epoch(int64_t epoch) {
    if (options.shuffle) {
      shuffle_order(options.seed, epoch, order);
    } else {
      std::iota(order.begin(), order.end(), 0u);
    }
    ordered_epoch = epoch;
  }

  int64_t row_bytes(size_t field) const { return dataset.info().fields[field].sample.bytes(); }

  void read_row(HostBatch& batch, int64_t row, int64_t index) {
    for (size_t field = 0; field < destinations.size(); ++field) {
      destinations[field] = batch.fields[field].data() + row * row_bytes(field);
    }
    dataset.read(options.split, index, destinations);
  }

  // Rows past the last sample are zero, never left over from an earlier batch.
  void clear_rows(HostBatch& batch, int64_t first) {
    for (size_t field = 0; field < destinations.size(); ++field) {
      const auto begin = static_cast<size_t>(first * row_bytes(field));
      std::memset(batch.fields[field].data() + begin, 0, batch.fields[field].size() - begin);
    }
  }

  const HostBatch& next() {
    std::unique_lock lock(mutex);
    // `taken` counts batches that the caller is done with or holds: asking for the next frees the one before.
    changed.wait(lock, [&] { return filled > taken || failure != nullptr; });
    if (filled == taken) std::rethrow_exception(failure);
    const HostBatch& batch = ring[static_cast<size_t>(taken) % ring.size()];
    ++taken;
    lock.unlock();
    changed.notify_all();
    return batch;
  }

  const Dataset& dataset;
  const Options options;
  int64_t size = 0;

  // Of the reading thread.
  SamplerPosition position;
  int64_t ordered_epoch = -1;
  std::vector<uint32_t> order;
  std::vector<std::byte*> destinations;

  std::vector<HostBatch> ring;
  std::mutex mutex;  // guards the four below
  int64_t filled = 0;
  int64_t taken = 0;
  bool stopping = false;
  std::exception_ptr failure;
  std::condition_variable changed;
  std::thread thread;  // last: starts when all else is there
};

Loader::Loader(const Dataset& dataset, Options options, SamplerPosition begin)
    : state_(std::make_unique<State>(dataset, options, begin)) {}

Loader::~Loader() = default;

const HostBatch& Loader::next() { return state_->next(); }

int64_t Loader::batches_per_epoch() const {
  return (state_->size + state_->options.global_batch - 1) / state_->options.global_batch;
}

}  // namespace tidemark::data
