#include <cstring>

#include "device/stream.h"

namespace tidemark {
namespace {

class HostEvent final : public Event {
 public:
  bool done() const override { return true; }
  void wait() override {}
};

class HostStream final : public Stream {
 public:
  std::unique_ptr<Event> make_event() override { return std::make_unique<HostEvent>(); }
  void record(Event&) override {}
  void wait_for(Event&) override {}
  void synchronize() override {}
  void copy(void* to, const void* from, int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void fill(void* to, uint8_t value, int64_t bytes) override {
    if (bytes > 0) std::memset(to, value, static_cast<size_t>(bytes));
  }
};

}  // namespace

std::unique_ptr<Stream> make_host_stream() { return std::make_unique<HostStream>(); }

}  // namespace tidemark
