#include "framework/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "framework/data/batch_reader.h"
#include "framework/data/sample_order.h"

namespace tidemark::data {

// A ring of batches: the reader fills them in order, next() hands them out in order. Counts only grow; slot = count %
// ring. The slot that next() gave out last belongs to the caller until the next call, hence one slot more than is read
// ahead.
struct Loader::State {
  State(const Dataset& dataset, Options opts, SamplerPosition begin)
      : options(opts),
        size(dataset.size(options.split)),
        reader(dataset, options.split, options.global_batch, options.micro_batch),
        position(begin) {
    TM_CHECK(options.global_batch >= 1 && options.micro_batch >= 0 && options.prefetch >= 1, "loader options");
    check_position();
    order.resize(static_cast<size_t>(size));
    for (int i = 0; i <= options.prefetch; ++i) ring.push_back(reader.make_batch());
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
    const int64_t samples = std::min(options.global_batch, size - position.offset);
    reader.read(std::span(order).subspan(static_cast<size_t>(position.offset), static_cast<size_t>(samples)), batch);
    position.offset += samples;
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

  const Options options;
  const int64_t size;

  // Of the reading thread.
  BatchReader reader;
  SamplerPosition position;
  int64_t ordered_epoch = -1;
  std::vector<uint32_t> order;

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
