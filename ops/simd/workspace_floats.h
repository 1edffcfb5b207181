// Books the float arrays that share a kernel's workspace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidemark::ops {

class WorkspaceFloats {
 public:
  // Offset of a new array in floats. Arrays begin at cache lines, so that threads do not share one.
  int64_t add(int64_t count) {
    const int64_t offset = floats_;
    floats_ += (count + kLineFloats - 1) / kLineFloats * kLineFloats;
    return offset;
  }
  int64_t bytes() const { return floats_ * static_cast<int64_t>(sizeof(float)); }

  static float* at(std::byte* workspace, int64_t offset) { return reinterpret_cast<float*>(workspace) + offset; }

 private:
  static constexpr int64_t kLineFloats = 16;
  int64_t floats_ = 0;
};

}  // namespace tidemark::ops
