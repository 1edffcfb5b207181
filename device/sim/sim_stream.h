// Streams of a simulated device: queues whose work is done late, by a thread of their own, as a real device does.
//
// Note [Late work]
// Nothing runs when it is given. Work runs only while somebody waits (synchronize(), Event::wait()), one piece at a
// time, each from a stream that a seeded generator picks among those that can go on, and only until what is waited for
// is done. So a program that waits too little reads and writes at wrong moments, and with one thread giving the work,
// the order is the same each time for a seed: a test can look through many orders and print the one that fails.
// Event::done() answers, then lets one piece of work run: a loop that asks ends.
// Work whose addresses have lost their pages does not run; from then on every wait throws Error(device).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/sim/sim_access.h"
#include "device/stream.h"

namespace tidemark {

// The queues of one device. Thread-safe. Must outlive its streams and events.
class SimQueues {
 public:
  // `access` says which addresses can be touched, nullptr: all; it must outlive the queues.
  explicit SimQueues(uint64_t seed, const SimAccess* access = nullptr);
  // Work that nobody waited for is dropped.
  ~SimQueues();
  SimQueues(const SimQueues&) = delete;
  SimQueues& operator=(const SimQueues&) = delete;

  std::unique_ptr<Stream> make_stream();
  // Work that was given and has not run, events included.
  int64_t pending() const;

 private:
  friend class SimStream;
  friend class SimEvent;

  // One piece of work: `ready` is empty or says whether it can run now.
  struct Work {
    std::vector<AddressRange> touches;
    std::function<void()> run;
    std::function<bool()> ready;
  };
  using Queue = std::deque<Work>;

  void give(Queue& queue, Work work);
  // Lets work run until `done`, which is asked under the mutex. Throws Error(device) for work that could not run.
  void wait_until(const std::function<bool()>& done);
  // Lets one piece of work run, if there is one.
  void run_one();
  void work_loop();
  bool run_next();
  void execute(const Work& work);
  Queue* add_queue();
  void end_queue(Queue& queue);
  void release_waiters();

  const SimAccess* const access_;
  mutable std::mutex mutex_;
  std::condition_variable wake_worker_;
  std::condition_variable wake_waiters_;
  std::mt19937_64 random_;
  std::deque<Queue> queues_;   // addresses stay
  std::vector<Queue*> ended_;  // of streams that are gone; used again when their work is done
  std::vector<const std::function<bool()>*> waiters_;
  std::string error_;  // of the first work that could not run
  bool ends_ = false;
  std::thread worker_;  // last: it uses the rest
};

}  // namespace tidemark
