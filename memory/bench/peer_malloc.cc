#include "memory/bench/peer_malloc.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.h"

namespace tidemark::memory {

PeerMalloc::PeerMalloc(const std::string& library) : name_(library.substr(library.rfind('/') + 1)) {
  if (library == "glibc") {
    malloc_ = std::malloc;
    free_ = std::free;
    return;
  }
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw Error(ErrorCode::config, std::string("--peer cannot be loaded: ") + ::dlerror());
  const auto find = [&](const char* own_name, const char* c_name) {
    void* symbol = ::dlsym(handle, own_name);
    return symbol ? symbol : ::dlsym(handle, c_name);
  };
  malloc_ = reinterpret_cast<void* (*)(size_t)>(find("mi_malloc", "malloc"));
  free_ = reinterpret_cast<void (*)(void*)>(find("mi_free", "free"));
  if (!malloc_ || !free_) throw Error(ErrorCode::config, "--peer '" + library + "' has no malloc and free");
}

}  // namespace tidemark::memory
