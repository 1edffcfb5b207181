// Bytes between guards: what a test gives a kernel, so that a write outside is seen and a read outside gives NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tidemark::ops::testing {

class GuardedBuffer {
 public:
  // `bytes` bytes, each set to `poison`, at an address that is 64 * lines beyond a multiple of 4096.
  explicit GuardedBuffer(int64_t bytes, std::byte poison = std::byte{0xFF}, int lines = 0);

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  // "byte -4 before the start was overwritten" and so on; empty if both guards are whole.
  std::string guard_fault() const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  int64_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
  std::byte* data_;
};

}  // namespace tidemark::ops::testing
