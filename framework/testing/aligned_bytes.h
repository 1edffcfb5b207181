// Host bytes at an alignment that any kernel takes, for tests that need an arena without a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace tidemark::testing {

class AlignedBytes {
 public:
  // Filled with `pattern`, so that a test does not live on fresh zeros.
  explicit AlignedBytes(int64_t bytes, int pattern = 0xab)
      : data_(static_cast<std::byte*>(::operator new (static_cast<size_t>(bytes), std::align_val_t{4096}))) {
    std::memset(data_.get(), pattern, static_cast<size_t>(bytes));
  }
  std::byte* data() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{4096}); }
  };
  std::unique_ptr<std::byte, Delete> data_;
};

}  // namespace tidemark::testing
