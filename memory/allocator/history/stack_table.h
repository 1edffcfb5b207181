// Call stacks, each kept once. Capturing takes microseconds and keeps return addresses; names are looked up only when
// somebody reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tidemark::memory {

using StackNumber = int32_t;
inline constexpr StackNumber kNoStack = -1;

// Return addresses of the calling thread, the innermost first, without the `skipped` innermost ones of its callers.
using Frames = std::vector<void*>;
Frames capture_frames(int skipped);

// "function+0x12 (program)" or "program+0x1234", which addr2line resolves, a frame. A program's own functions have
// names if it is linked with -rdynamic.
std::vector<std::string> symbolize(const Frames& frames);

// Not thread-safe.
class StackTable {
 public:
  StackNumber add(const Frames& frames);
  const Frames& frames(StackNumber stack) const { return *stacks_[static_cast<size_t>(stack)]; }
  size_t size() const { return stacks_.size(); }

 private:
  std::map<Frames, StackNumber> numbers_;
  std::vector<const Frames*> stacks_;  // keys of numbers_
};

}  // namespace tidemark::memory
