#include "memory/allocator/history/stack_table.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace tidemark::memory {
namespace {

constexpr int kMaxFrames = 32;

std::string demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? plain.get() : name;
}

std::string_view file_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

std::string describe(void* address) {
  Dl_info info = {};
  if (::dladdr(address, &info) == 0 || !info.dli_fname) return fmt::format("{}", address);
  const auto offset = [&](const void* base) { return static_cast<char*>(address) - static_cast<const char*>(base); };
  if (!info.dli_sname) return fmt::format("{}+{:#x}", file_name(info.dli_fname), offset(info.dli_fbase));
  return fmt::format("{}+{:#x} ({})", demangle(info.dli_sname), offset(info.dli_saddr), file_name(info.dli_fname));
}

}  // namespace

Frames capture_frames(int skipped) {
  std::array<void*, kMaxFrames> addresses;
  const int count = ::backtrace(addresses.data(), kMaxFrames);
  // This function is one of them.
  const int first = std::min(count, skipped + 1);
  return Frames(addresses.begin() + first, addresses.begin() + count);
}

std::vector<std::string> symbolize(const Frames& frames) {
  std::vector<std::string> lines;
  for (void* frame : frames) lines.push_back(describe(frame));
  return lines;
}

StackNumber StackTable::add(const Frames& frames) {
  const auto [entry, added] = numbers_.emplace(frames, static_cast<StackNumber>(stacks_.size()));
  if (added) stacks_.push_back(&entry->first);
  return entry->second;
}

}  // namespace tidemark::memory
