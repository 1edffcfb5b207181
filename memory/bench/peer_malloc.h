// malloc and free of a shared library, as a yardstick for the time of a call.
#pragma once

#include <cstddef>
#include <string>

namespace tidemark::memory {

class PeerMalloc {
 public:
  // "glibc" is this program's own; else the path of a library (libmimalloc.so.2, libjemalloc.so.2). It stays loaded.
  // Throws Error(config) if it cannot be loaded (for jemalloc: GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384) or
  // has no malloc and free.
  explicit PeerMalloc(const std::string& library);

  const std::string& name() const { return name_; }
  void* allocate(size_t bytes) const { return malloc_(bytes); }
  void deallocate(void* address) const { free_(address); }

 private:
  std::string name_;
  void* (*malloc_)(size_t) = nullptr;
  void (*free_)(void*) = nullptr;
};

}  // namespace tidemark::memory
