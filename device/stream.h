// Order of work on a device: a stream runs what it is given one after another, events mark points in it.
#pragma once

#include <cstdint>
#include <memory>

namespace tidemark {

// A point in a stream's work. Reusable: recording it again moves it.
class Event {
 public:
  virtual ~Event() = default;
  // True once the work before the recorded point is done; true for an event that was never recorded.
  virtual bool done() const = 0;
  // Blocks the calling thread until done().
  virtual void wait() = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;

  virtual std::unique_ptr<Event> make_event() = 0;
  // Puts the event behind all work given to the stream so far. The event must come from a stream of the same device.
  virtual void record(Event& event) = 0;
  // Later work of this stream starts after the event is done.
  virtual void wait_for(Event& event) = 0;
  // Blocks the calling thread until all work is done.
  virtual void synchronize() = 0;

  // Copies between any two addresses that the device can reach; the ranges must not overlap and must stay valid until
  // the copy is done.
  virtual void copy(void* to, const void* from, int64_t bytes) = 0;
  // Sets every byte.
  virtual void fill(void* to, uint8_t value, int64_t bytes) = 0;
};

// The host's stream: work is done in the calling thread before the call returns, so every event is done.
std::unique_ptr<Stream> make_host_stream();

}  // namespace tidemark
