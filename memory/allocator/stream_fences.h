// What streams may still use: every release is a number in its stream, and events say up to which number the stream is
// done.
//
// Events are not recorded at a release but when somebody asks, behind all releases so far: a stream that only reuses
// its own blocks records none. Stream 0 is the calling thread, whose releases are done at once.
//
// A Stream is known by its address: it must outlive the allocator, or forget() must come before its end. Not
// thread-safe; the events are, so that a thread can wait for one without the owner's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "device/stream.h"

namespace tidemark::memory {

using StreamIndex = uint16_t;

class StreamFences {
 public:
  StreamFences();

  // nullptr is stream 0. A stream that was never seen gets a number.
  StreamIndex index_of(Stream* stream);
  StreamIndex count() const { return static_cast<StreamIndex>(states_.size()); }

  // The number of a release in its stream; 0 for stream 0, which is always done, as is a stream that was forgotten.
  uint64_t note_release(StreamIndex stream);
  bool done(StreamIndex stream, uint64_t number) const { return number <= states_[stream].done; }
  // True if nothing of the stream is outstanding.
  bool idle(StreamIndex stream) const { return states_[stream].released == states_[stream].done; }
  uint64_t done_number(StreamIndex stream) const { return states_[stream].done; }

  // Records events behind all releases so far and looks at the recorded ones. Returns whether a stream has come
  // further.
  bool poll();
  // An event that a stream has not reached; nullptr if poll() left nothing outstanding.
  std::shared_ptr<Event> outstanding() const;

  // Waits for everything of the stream and takes its address out of the table.
  void forget(Stream& stream);

 private:
  struct Fence {
    uint64_t number;
    std::shared_ptr<Event> event;
  };
  struct State {
    Stream* stream = nullptr;
    uint64_t released = 0;
    uint64_t fenced = 0;
    uint64_t done = 0;
    std::deque<Fence> fences;
    std::vector<std::shared_ptr<Event>> spare;
  };

  static void fence(State& state);
  static bool advance(State& state);

  std::vector<State> states_;
  StreamIndex last_ = 0;  // most calls come from the same stream as the one before
};

}  // namespace tidemark::memory
