#include "device/sim/sim_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace tidemark {

// Recording takes the next number, which the work behind it makes the reached one. Outlives the event where work still
// refers to it.
struct SimEventState {
  int64_t recorded = 0;
  int64_t reached = 0;
};

class SimEvent final : public Event {
 public:
  explicit SimEvent(SimQueues& queues) : queues_(queues) {}

  bool done() const override {
    {
      const std::lock_guard lock(queues_.mutex_);
      if (state_->reached >= state_->recorded) return true;
    }
    queues_.run_one();
    return false;
  }

  void wait() override {
    queues_.wait_until([state = state_, number = number()] { return state->reached >= number; });
  }

  int64_t number() const {
    const std::lock_guard lock(queues_.mutex_);
    return state_->recorded;
  }

  SimQueues& queues_;
  const std::shared_ptr<SimEventState> state_ = std::make_shared<SimEventState>();
};

class SimStream final : public Stream {
 public:
  explicit SimStream(SimQueues& queues) : queues_(queues), queue_(*queues.add_queue()) {}
  ~SimStream() override { queues_.end_queue(queue_); }

  std::unique_ptr<Event> make_event() override { return std::make_unique<SimEvent>(queues_); }

  void record(Event& event) override {
    const std::shared_ptr<SimEventState> state = state_of(event);
    const std::lock_guard lock(queues_.mutex_);
    const int64_t number = ++state->recorded;
    queue_.push_back({{}, [state, number] { state->reached = std::max(state->reached, number); }, nullptr});
  }

  void wait_for(Event& event) override {
    const std::shared_ptr<SimEventState> state = state_of(event);
    const std::lock_guard lock(queues_.mutex_);
    queue_.push_back({{}, [] {}, [state, number = state->recorded] { return state->reached >= number; }});
  }

  // Later work of the stream is given by other threads, so what is there now is marked.
  void synchronize() override {
    SimEvent here(queues_);
    record(here);
    here.wait();
  }

  void copy(void* to, const void* from, int64_t bytes) override {
    if (bytes <= 0) return;
    queues_.give(queue_,
                 {{{to, bytes}, {from, bytes}}, [=] { std::memcpy(to, from, static_cast<size_t>(bytes)); }, nullptr});
  }

  void fill(void* to, uint8_t value, int64_t bytes) override {
    if (bytes <= 0) return;
    queues_.give(queue_, {{{to, bytes}}, [=] { std::memset(to, value, static_cast<size_t>(bytes)); }, nullptr});
  }

 private:
  std::shared_ptr<SimEventState> state_of(Event& event) const {
    auto* const ours = dynamic_cast<SimEvent*>(&event);
    TM_CHECK(ours && &ours->queues_ == &queues_, "the event is another device's");
    return ours->state_;
  }

  SimQueues& queues_;
  SimQueues::Queue& queue_;
};

SimQueues::SimQueues(uint64_t seed, const SimAccess* access)
    : access_(access), random_(seed), worker_([this] { work_loop(); }) {}

SimQueues::~SimQueues() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_worker_.notify_all();
  worker_.join();
}

std::unique_ptr<Stream> SimQueues::make_stream() { return std::make_unique<SimStream>(*this); }

SimQueues::Queue* SimQueues::add_queue() {
  const std::lock_guard lock(mutex_);
  const auto idle = std::find_if(ended_.begin(), ended_.end(), [](const Queue* queue) { return queue->empty(); });
  if (idle == ended_.end()) return &queues_.emplace_back();
  Queue* const queue = *idle;
  ended_.erase(idle);
  return queue;
}

void SimQueues::end_queue(Queue& queue) {
  const std::lock_guard lock(mutex_);
  ended_.push_back(&queue);
}

int64_t SimQueues::pending() const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const Queue& queue : queues_) sum += static_cast<int64_t>(queue.size());
  return sum;
}

void SimQueues::give(Queue& queue, Work work) {
  const std::lock_guard lock(mutex_);
  queue.push_back(std::move(work));
}

void SimQueues::wait_until(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  waiters_.push_back(&done);
  wake_worker_.notify_all();
  wake_waiters_.wait(lock, [&] { return std::find(waiters_.begin(), waiters_.end(), &done) == waiters_.end(); });
  if (!error_.empty()) throw Error(ErrorCode::device, error_);
}

// The first time that it is asked: nothing has run yet for this wait.
void SimQueues::run_one() {
  bool asked = false;
  const std::function<bool()> once = [&asked] { return std::exchange(asked, true); };
  std::unique_lock lock(mutex_);
  waiters_.push_back(&once);
  wake_worker_.notify_all();
  wake_waiters_.wait(lock, [&] { return std::find(waiters_.begin(), waiters_.end(), &once) == waiters_.end(); });
}

void SimQueues::work_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_worker_.wait(lock, [&] { return ends_ || !waiters_.empty(); });
    if (ends_) return;
    release_waiters();
    if (waiters_.empty() || run_next()) continue;
    release_waiters();  // those who asked for one piece of work: there is none
    TM_CHECK(waiters_.empty(), "somebody waits for work that was never given");
  }
}

void SimQueues::release_waiters() {
  if (std::erase_if(waiters_, [](const auto* done) { return (*done)(); }) > 0) wake_waiters_.notify_all();
}

bool SimQueues::run_next() {
  std::vector<Queue*> ready;
  for (Queue& queue : queues_) {
    if (!queue.empty() && (!queue.front().ready || queue.front().ready())) ready.push_back(&queue);
  }
  if (ready.empty()) return false;
  Queue& chosen = *ready[random_() % ready.size()];
  const Work work = std::move(chosen.front());
  chosen.pop_front();
  execute(work);
  return true;
}

void SimQueues::execute(const Work& work) {
  if (!access_ || work.touches.empty()) {
    work.run();
  } else if (!access_->run(work.touches, work.run) && error_.empty()) {
    error_ = fmt::format(
        "work of a stream on {} bytes touches addresses that have no pages any more; wait for the stream before they "
        "are given back",
        work.touches.front().bytes);
  }
}

}  // namespace tidemark
