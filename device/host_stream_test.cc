#include <gtest/gtest.h>

#include <array>

#include "device/stream.h"

namespace tidemark {
namespace {

TEST(HostStream, WorkIsDoneWhenTheCallReturns) {
  const std::unique_ptr<Stream> stream = make_host_stream();
  const std::array<int, 3> from = {1, 2, 3};
  std::array<int, 3> to = {};
  stream->copy(to.data(), from.data(), sizeof(from));
  EXPECT_EQ(to, from);
  stream->fill(to.data(), 0xff, sizeof(int));
  EXPECT_EQ(to, (std::array<int, 3>{-1, 2, 3}));
  stream->copy(nullptr, nullptr, 0);
}

TEST(HostStream, EventsAreDone) {
  const std::unique_ptr<Stream> stream = make_host_stream();
  const std::unique_ptr<Event> event = stream->make_event();
  stream->record(*event);
  stream->wait_for(*event);
  event->wait();
  stream->synchronize();
  EXPECT_TRUE(event->done());
}

}  // namespace
}  // namespace tidemark
