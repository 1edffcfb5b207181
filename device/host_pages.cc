#include "device/host_pages.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

namespace tidemark {
namespace {

std::string reason() { return std::generic_category().message(errno); }

int64_t page_bytes() { return ::sysconf(_SC_PAGESIZE); }

// Writes one byte of every page: what MADV_POPULATE_WRITE does, for kernels before 5.14.
void touch_pages(std::byte* data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += page_bytes()) *reinterpret_cast<volatile std::byte*>(data + at) = std::byte{0};
}

bool populate(std::byte* data, int64_t bytes) {
  while (::madvise(data, static_cast<size_t>(bytes), MADV_POPULATE_WRITE) != 0) {
    if (errno == EAGAIN || errno == EINTR) continue;
    if (errno != EINVAL) return false;
    touch_pages(data, bytes);
    break;
  }
  return true;
}

struct SmapsEntry {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool shared = false;  // of the page file, which is measured as a whole
};

// The header line of a mapping ("7f0000000000-7f0000200000 rw-p ..."); false for the lines of figures below it.
bool parse_header(std::string_view line, SmapsEntry& entry) {
  const char* const last = line.data() + line.size();
  const auto begin = std::from_chars(line.data(), last, entry.begin, 16);
  if (begin.ec != std::errc() || begin.ptr == last || *begin.ptr != '-') return false;
  const auto end = std::from_chars(begin.ptr + 1, last, entry.end, 16);
  if (end.ec != std::errc() || last - end.ptr < 5) return false;
  entry.shared = end.ptr[4] == 's';
  return true;
}

// Bytes of a line such as "Rss:   2048 kB".
int64_t parse_figure(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return 0;
  line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
  int64_t kib = 0;
  std::from_chars(line.data(), line.data() + line.size(), kib);
  return kib * 1024;
}

}  // namespace

HostPages::HostPages(std::string device, PageFileKind file_kind, Children children)
    : device_(std::move(device)), file_kind_(file_kind), children_(children) {}

void HostPages::create(std::span<PageId> pages, const std::function<int64_t()>& max_bytes) {
  if (!file_) {
    file_ = std::make_unique<PageFile>(kGranularityBytes, max_bytes(), file_kind_);
    // The second best is worth a word, with its reason; the best is not, least of all in other people's programs.
    const LogLevel level = file_->why().empty() ? LogLevel::debug : LogLevel::info;
    log(level, "page_file", {{"device", device_}, {"kind", to_string(file_->kind())}, {"why", file_->why()}});
  }
  file_->create(pages);
}

// A new mapping of addresses without access has the flags of none.
void HostPages::unmap(std::byte* data, int64_t bytes) {
  file_->unmap(data, bytes);
  hide_from_children(data, bytes);
}

void HostPages::hide_from_children(std::byte* data, int64_t bytes) const {
  if (children_ == Children::have_none) ::madvise(data, static_cast<size_t>(bytes), MADV_DONTFORK);
}

std::byte* HostPages::reserve(int64_t bytes) {
  // One granule more leaves room to align, one page on each side stays without access: it keeps the kernel from merging
  // the range with a neighbour's mapping, so that measure_pages() sees this range alone.
  const int64_t guard = page_bytes();
  const int64_t total = bytes + kGranularityBytes + 2 * guard;
  void* start =
      ::mmap(nullptr, static_cast<size_t>(total), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    throw Error(ErrorCode::out_of_memory, fmt::format("device '{}' has no address range of {}: {}; look at ulimit -v",
                                                      device_, format_bytes(bytes), reason()));
  }
  const uintptr_t first = reinterpret_cast<uintptr_t>(start) + static_cast<uintptr_t>(guard);
  const uintptr_t aligned = (first + kGranularityBytes - 1) / kGranularityBytes * kGranularityBytes;
  std::byte* data = reinterpret_cast<std::byte*>(aligned);
  const int64_t before = data - guard - static_cast<std::byte*>(start);
  const int64_t after = total - before - bytes - 2 * guard;
  if (before > 0) ::munmap(start, static_cast<size_t>(before));
  if (after > 0) ::munmap(data + bytes + guard, static_cast<size_t>(after));
  // Hints: a kernel built without them works as well, with small pages and larger dumps.
  ::madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  ::madvise(data, static_cast<size_t>(bytes), MADV_DONTDUMP);
  hide_from_children(data, bytes);
  return data;
}

void HostPages::release(std::byte* data, int64_t bytes) {
  // The mapped parts are holes in a forked child, where something else may lie by now.
  if (file_ && file_->dropped()) return;
  const int64_t guard = page_bytes();
  if (::munmap(data - guard, static_cast<size_t>(bytes + 2 * guard)) != 0) {
    throw Error(ErrorCode::device, "munmap: " + reason());
  }
}

void HostPages::commit(std::byte* data, int64_t bytes) {
  if (::mprotect(data, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE) == 0 && populate(data, bytes)) return;
  const std::string why = reason();
  ::madvise(data, static_cast<size_t>(bytes), MADV_DONTNEED);
  ::mprotect(data, static_cast<size_t>(bytes), PROT_NONE);
  throw Error(ErrorCode::out_of_memory, fmt::format("device '{}' cannot have {} more: {}; lower memory.budget", device_,
                                                    format_bytes(bytes), why));
}

void HostPages::decommit(std::byte* data, int64_t bytes) {
  if (::madvise(data, static_cast<size_t>(bytes), MADV_DONTNEED) != 0 ||
      ::mprotect(data, static_cast<size_t>(bytes), PROT_NONE) != 0) {
    throw Error(ErrorCode::device,
                fmt::format("device '{}' cannot give back {}: {}", device_, format_bytes(bytes), reason()));
  }
}

int64_t HostPages::measure(const std::byte* data, int64_t bytes) const {
  const uintptr_t first = reinterpret_cast<uintptr_t>(data), last = first + static_cast<uintptr_t>(bytes);
  const std::string smaps = read_file("/proc/self/smaps");
  int64_t sum = 0;
  bool inside = false;
  for (size_t at = 0; at < smaps.size();) {
    const size_t end = std::min(smaps.find('\n', at), smaps.size());
    const std::string_view line = std::string_view(smaps).substr(at, end - at);
    at = end + 1;
    SmapsEntry entry;
    if (parse_header(line, entry)) {
      inside = !entry.shared && first <= entry.begin && entry.end <= last;
    } else if (inside) {
      sum += parse_figure(line, "Rss:") + parse_figure(line, "Swap:");
    }
  }
  return sum;
}

}  // namespace tidemark
