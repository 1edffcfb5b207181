#include "memory/allocator/stream_fences.h"

#include <limits>

#include "base/error.h"

namespace tidemark::memory {
namespace {

// More events than this would not bring memory back sooner: the next one covers what they would have.
constexpr size_t kMaxFences = 64;

}  // namespace

StreamFences::StreamFences() : states_(1) {}

StreamIndex StreamFences::index_of(Stream* stream) {
  if (!stream) return 0;
  if (states_[last_].stream == stream) return last_;
  for (size_t i = 1; i < states_.size(); ++i) {
    if (states_[i].stream == stream) return last_ = static_cast<StreamIndex>(i);
  }
  // A forgotten stream's number is free again.
  for (size_t i = 1; i < states_.size(); ++i) {
    if (states_[i].stream) continue;
    states_[i].stream = stream;
    return last_ = static_cast<StreamIndex>(i);
  }
  TM_CHECK(states_.size() < std::numeric_limits<StreamIndex>::max(), "too many streams");
  State state;
  state.stream = stream;
  states_.push_back(std::move(state));
  return last_ = static_cast<StreamIndex>(states_.size() - 1);
}

uint64_t StreamFences::note_release(StreamIndex stream) {
  if (stream == 0) return 0;
  State& state = states_[stream];
  const uint64_t number = ++state.released;
  if (!state.stream) state.done = state.fenced = number;
  return number;
}

void StreamFences::fence(State& state) {
  if (state.fenced == state.released || state.fences.size() >= kMaxFences) return;
  std::shared_ptr<Event> event;
  if (!state.spare.empty()) {
    event = std::move(state.spare.back());
    state.spare.pop_back();
  } else {
    event = state.stream->make_event();
  }
  state.stream->record(*event);
  state.fences.push_back({state.released, std::move(event)});
  state.fenced = state.released;
}

bool StreamFences::advance(State& state) {
  const uint64_t before = state.done;
  while (!state.fences.empty() && state.fences.front().event->done()) {
    state.done = state.fences.front().number;
    // An event that a thread still waits for must not be recorded again.
    if (state.fences.front().event.use_count() == 1) state.spare.push_back(std::move(state.fences.front().event));
    state.fences.pop_front();
  }
  return state.done != before;
}

bool StreamFences::poll() {
  bool advanced = false;
  for (State& state : states_) {
    if (!state.stream || state.released == state.done) continue;
    fence(state);
    advanced |= advance(state);
  }
  return advanced;
}

std::shared_ptr<Event> StreamFences::outstanding() const {
  for (const State& state : states_) {
    if (!state.fences.empty()) return state.fences.front().event;
  }
  return nullptr;
}

void StreamFences::forget(Stream& stream) {
  for (State& state : states_) {
    if (state.stream != &stream) continue;
    stream.synchronize();
    state.done = state.fenced = state.released;
    state.fences.clear();
    state.spare.clear();
    state.stream = nullptr;
  }
  last_ = 0;
}

}  // namespace tidemark::memory
