#include "ops/testing/guarded_buffer.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace tidemark::ops::testing {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kGuardBytes = kPage;  // on either side

// A NaN as f32 and as bf16, far out of range as an index, and unlike the bytes that kernels write.
constexpr std::byte guard_byte(int64_t position) { return position % 2 ? std::byte{0xFF} : std::byte{0xFB}; }

}  // namespace

void GuardedBuffer::Free::operator()(std::byte* memory) const { std::free(memory); }

GuardedBuffer::GuardedBuffer(int64_t bytes, std::byte poison, int lines) : bytes_(bytes) {
  const int64_t needed = kGuardBytes + 64 * lines + bytes + kGuardBytes;
  const int64_t rounded = (needed + kPage - 1) / kPage * kPage;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, static_cast<size_t>(rounded))));
  TM_CHECK(memory_ != nullptr, "no memory for a test buffer of " + std::to_string(rounded) + " bytes");
  data_ = memory_.get() + kGuardBytes + 64 * lines;
  for (int64_t i = 1; i <= kGuardBytes; ++i) data_[-i] = guard_byte(-i);
  for (int64_t i = 0; i < kGuardBytes; ++i) data_[bytes + i] = guard_byte(i);
  std::memset(data_, static_cast<int>(poison), static_cast<size_t>(bytes));
}

std::string GuardedBuffer::guard_fault() const {
  for (int64_t i = 1; i <= kGuardBytes; ++i) {
    if (data_[-i] != guard_byte(-i)) return "byte " + std::to_string(-i) + " before its start was overwritten";
  }
  for (int64_t i = 0; i < kGuardBytes; ++i) {
    if (data_[bytes_ + i] != guard_byte(i)) return "byte " + std::to_string(i) + " past its end was overwritten";
  }
  return "";
}

}  // namespace tidemark::ops::testing
