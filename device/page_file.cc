#include "device/page_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "device/page_file_open.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace tidemark {
namespace {

// Below the kernel's vm.max_map_count of 65,530; each run may leave a gap of its own beside it.
constexpr int64_t kMaxMappings = 25'000;

std::string reason() { return std::generic_category().message(errno); }

// Calls visit(first page's place in `pages`, count) for every run of neighbouring chunks.
template <class Visit>
void for_each_run(std::span<const PageId> pages, Visit visit) {
  for (size_t at = 0; at < pages.size();) {
    size_t end = at + 1;
    while (end < pages.size() && pages[end].value == pages[end - 1].value + 1) ++end;
    visit(at, end - at);
    at = end;
  }
}

// A part of a file at addresses of its own that are aligned to `alignment`.
class Window {
 public:
  Window(int file, int64_t offset, int64_t bytes, int64_t alignment)
      : bytes_(static_cast<size_t>(bytes)), reserved_(static_cast<size_t>(bytes + alignment)) {
    start_ = ::mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start_ == MAP_FAILED) return;
    const uintptr_t unit = static_cast<uintptr_t>(alignment);
    void* aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(start_) + unit - 1) / unit * unit);
    void* mapped = ::mmap(aligned, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, offset);
    data_ = mapped == MAP_FAILED ? nullptr : mapped;
  }
  ~Window() {
    if (start_ != MAP_FAILED) ::munmap(start_, reserved_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  void* data() const { return data_; }  // nullptr: the kernel has no addresses for it
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_, reserved_;
  void* start_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace

std::string_view to_string(PageFileKind kind) {
  switch (kind) {
    case PageFileKind::automatic:
      return "automatic";
    case PageFileKind::tmpfs:
      return "tmpfs";
    case PageFileKind::memfd:
      return "memfd";
  }
  TM_CHECK(false, "unknown PageFileKind");
}

PageFile::PageFile(int64_t page_bytes, int64_t max_bytes, PageFileKind kind)
    : page_bytes_(page_bytes), max_chunks_(max_bytes / page_bytes), after_fork_([this] { close_file(); }) {
  const int64_t bytes = max_chunks_ * page_bytes_;
  for (const PageFileKind candidate : {PageFileKind::tmpfs, PageFileKind::memfd}) {
    if (kind != PageFileKind::automatic && kind != candidate) continue;
    OpenedFile opened = candidate == PageFileKind::tmpfs ? open_tmpfs_file(bytes) : open_sealed_memfd(bytes);
    if (opened.descriptor >= 0) {
      file_ = opened.descriptor;
      kind_ = candidate;
      return;
    }
    why_ += (why_.empty() ? "" : "; ") + std::string(to_string(candidate)) + ": " + opened.refusal;
  }
  throw Error(ErrorCode::device, "no file for pages: " + why_);
}

PageFile::~PageFile() { close_file(); }

void PageFile::close_file() noexcept {
  if (const int file = std::exchange(file_, -1); file >= 0) ::close(file);
}

void PageFile::check_not_dropped() const {
  if (dropped()) throw Error(ErrorCode::device, "these pages were opened before a fork; the child must open its own");
}

int64_t PageFile::take_chunk() {
  if (!free_.empty()) {
    const int64_t chunk = free_.top();
    free_.pop();
    return chunk;
  }
  if (static_cast<int64_t>(uses_.size()) == max_chunks_) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("all {} pages of {} are in use", max_chunks_, format_bytes(page_bytes_)));
  }
  uses_.push_back(-1);
  return static_cast<int64_t>(uses_.size()) - 1;
}

void PageFile::allocate(int64_t chunk) {
  while (::fallocate(file_, 0, chunk * page_bytes_, page_bytes_) != 0) {
    if (errno == EINTR) continue;
    const std::string why = reason();
    punch(chunk);  // what was filled of it
    free_.push(chunk);
    throw Error(ErrorCode::out_of_memory,
                fmt::format("the kernel refuses a page of {}: {}", format_bytes(page_bytes_), why));
  }
  uses_[static_cast<size_t>(chunk)] = 0;
}

void PageFile::punch(int64_t chunk) {
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (::fallocate(file_, mode, chunk * page_bytes_, page_bytes_) != 0) {
    throw Error(ErrorCode::device, "a page cannot be given back: " + reason());
  }
}

void PageFile::create(std::span<PageId> pages) {
  check_not_dropped();
  size_t made = 0;
  try {
    for (; made < pages.size(); ++made) {
      const int64_t chunk = take_chunk();
      allocate(chunk);
      pages[made] = {chunk};
    }
  } catch (...) {
    destroy(pages.first(made));
    throw;
  }
  if (kind_ == PageFileKind::memfd) collapse(pages);
}

// One call for many chunks: each call makes the kernel empty the page lists of all processors. A refusal leaves small
// pages, which work as well.
void PageFile::collapse(std::span<const PageId> pages) {
  for_each_run(pages, [&](size_t at, size_t count) {
    const Window window(file_, pages[at].value * page_bytes_, static_cast<int64_t>(count) * page_bytes_, page_bytes_);
    if (window.data()) ::madvise(window.data(), window.bytes(), MADV_COLLAPSE);
  });
}

void PageFile::fill(std::span<const PageId> pages, uint8_t value) {
  check_not_dropped();
  for_each_run(pages, [&](size_t at, size_t count) {
    const Window window(file_, pages[at].value * page_bytes_, static_cast<int64_t>(count) * page_bytes_, page_bytes_);
    if (!window.data()) throw Error(ErrorCode::out_of_memory, "no addresses to fill pages: " + reason());
    std::memset(window.data(), value, window.bytes());
  });
}

void PageFile::destroy(std::span<const PageId> pages) {
  for (const PageId page : pages) {
    const bool known = page.value >= 0 && page.value < static_cast<int64_t>(uses_.size());
    TM_CHECK(known && uses_[static_cast<size_t>(page.value)] == 0,
             fmt::format("page {} is given back but is mapped or not there", page.value));
    if (!dropped()) punch(page.value);
    uses_[static_cast<size_t>(page.value)] = -1;
    free_.push(page.value);
  }
}

void PageFile::map(std::byte* data, std::span<const PageId> pages) {
  check_not_dropped();
  int64_t done = 0;
  try {
    for_each_run(pages, [&](size_t at, size_t count) {
      map_run(data + done, pages[at].value, static_cast<int64_t>(count));
      done += static_cast<int64_t>(count) * page_bytes_;
    });
  } catch (...) {
    if (done > 0) unmap(data, done);
    throw;
  }
}

void PageFile::map_run(std::byte* data, int64_t first_chunk, int64_t count) {
  if (mappings_ >= kMaxMappings) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{} mappings are in use, no more are allowed; give cached memory back", mappings_));
  }
  const int flags = MAP_SHARED | MAP_FIXED;
  void* mapped = ::mmap(data, static_cast<size_t>(count * page_bytes_), PROT_READ | PROT_WRITE, flags, file_,
                        first_chunk * page_bytes_);
  if (mapped == MAP_FAILED) throw Error(ErrorCode::out_of_memory, "pages cannot be mapped: " + reason());
  ::madvise(data, static_cast<size_t>(count * page_bytes_), MADV_DONTDUMP);
  ::madvise(data, static_cast<size_t>(count * page_bytes_), MADV_DONTFORK);
  for (int64_t i = 0; i < count; ++i) note_mapped(data + i * page_bytes_, first_chunk + i);
}

void PageFile::unmap(std::byte* data, int64_t bytes) {
  if (!dropped()) unmap_addresses(data, bytes);
  for (int64_t at = 0; at < bytes; at += page_bytes_) note_unmapped(data + at);
}

void PageFile::unmap_addresses(std::byte* data, int64_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (::mmap(data, static_cast<size_t>(bytes), PROT_NONE, flags, -1, 0) == MAP_FAILED) {
    throw Error(ErrorCode::device, "pages cannot be unmapped: " + reason());
  }
  // As reserved: pages may be committed there later.
  ::madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  ::madvise(data, static_cast<size_t>(bytes), MADV_DONTDUMP);
}

int64_t PageFile::chunk_at(std::byte* data) const {
  const auto it = chunks_.find(data);
  return it == chunks_.end() ? -1 : it->second;
}

// A granule begins a mapping unless the one before continues into it.
bool PageFile::begins_mapping(std::byte* data, int64_t chunk) const {
  return chunk == 0 || chunk_at(data - page_bytes_) != chunk - 1;
}

void PageFile::note_mapped(std::byte* data, int64_t chunk) {
  ++uses_[static_cast<size_t>(chunk)];
  if (begins_mapping(data, chunk)) ++mappings_;
  if (chunk_at(data + page_bytes_) == chunk + 1) --mappings_;
  chunks_[data] = chunk;
}

void PageFile::note_unmapped(std::byte* data) {
  const int64_t chunk = chunk_at(data);
  --uses_[static_cast<size_t>(chunk)];
  if (begins_mapping(data, chunk)) --mappings_;
  if (chunk_at(data + page_bytes_) == chunk + 1) ++mappings_;
  chunks_.erase(data);
}

int64_t PageFile::measured_bytes() const {
  struct stat status = {};
  if (::fstat(file_, &status) != 0) throw Error(ErrorCode::io, "the page file cannot be asked: " + reason());
  return static_cast<int64_t>(status.st_blocks) * 512;
}

}  // namespace tidemark
