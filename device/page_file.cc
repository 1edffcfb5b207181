#include "device/page_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <system_error>

#include "base/bytes.h"
#include "base/error.h"

namespace tidemark {
namespace {

// Below the kernel's vm.max_map_count of 65,530; each run may leave a gap of its own beside it.
constexpr int64_t kMaxMappings = 25'000;

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

PageFile::PageFile(int64_t page_bytes) : page_bytes_(page_bytes) {
  file_ = ::memfd_create("tidemark-pages", MFD_CLOEXEC);
  if (file_ < 0) throw Error(ErrorCode::device, "no file for pages: memfd_create: " + reason());
}

PageFile::~PageFile() { ::close(file_); }

void PageFile::grow(int64_t chunks) {
  const int64_t end = end_ + chunks;
  if (::ftruncate(file_, end * page_bytes_) != 0) {
    throw Error(ErrorCode::out_of_memory, fmt::format("the page file cannot have {} chunks: {}", end, reason()));
  }
  uses_.resize(static_cast<size_t>(end), -1);
  for (int64_t chunk = end - 1; chunk >= end_; --chunk) free_.push_back(chunk);
  end_ = end;
}

void PageFile::fill(int64_t chunk) {
  while (::fallocate(file_, 0, chunk * page_bytes_, page_bytes_) != 0) {
    if (errno == EINTR) continue;
    const std::string why = reason();
    punch(chunk);  // what was filled of it
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
  uses_[static_cast<size_t>(chunk)] = -1;
}

void PageFile::create(std::span<PageId> pages) {
  const int64_t missing = static_cast<int64_t>(pages.size()) - static_cast<int64_t>(free_.size());
  if (missing > 0) grow(missing);
  size_t made = 0;
  try {
    for (; made < pages.size(); ++made) {
      const int64_t chunk = free_.back();
      fill(chunk);
      free_.pop_back();
      pages[made] = {chunk};
    }
  } catch (...) {
    destroy(pages.first(made));
    throw;
  }
}

void PageFile::destroy(std::span<const PageId> pages) {
  for (const PageId page : pages) {
    TM_CHECK(page.value >= 0 && page.value < end_ && uses_[static_cast<size_t>(page.value)] == 0,
             fmt::format("page {} is given back but is mapped or not there", page.value));
    punch(page.value);
    free_.push_back(page.value);
  }
  // The lowest first: neighbours make fewer mappings.
  std::sort(free_.begin(), free_.end(), std::greater<>());
}

void PageFile::map(std::byte* data, std::span<const PageId> pages) {
  size_t at = 0;
  try {
    while (at < pages.size()) {
      size_t end = at + 1;
      while (end < pages.size() && pages[end].value == pages[end - 1].value + 1) ++end;
      map_run(data + static_cast<int64_t>(at) * page_bytes_, pages[at].value, static_cast<int64_t>(end - at));
      at = end;
    }
  } catch (...) {
    if (at > 0) unmap(data, static_cast<int64_t>(at) * page_bytes_);
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
  for (int64_t i = 0; i < count; ++i) note_mapped(data + i * page_bytes_, first_chunk + i);
}

void PageFile::unmap(std::byte* data, int64_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (::mmap(data, static_cast<size_t>(bytes), PROT_NONE, flags, -1, 0) == MAP_FAILED) {
    throw Error(ErrorCode::device, "pages cannot be unmapped: " + reason());
  }
  ::madvise(data, static_cast<size_t>(bytes), MADV_DONTDUMP);
  for (int64_t at = 0; at < bytes; at += page_bytes_) note_unmapped(data + at);
}

int64_t PageFile::chunk_at(std::byte* data) const {
  const auto it = chunks_.find(data);
  return it == chunks_.end() ? -1 : it->second;
}

// A granule begins a mapping unless the one before continues into it.
void PageFile::note_mapped(std::byte* data, int64_t chunk) {
  ++uses_[static_cast<size_t>(chunk)];
  if (chunk == 0 || chunk_at(data - page_bytes_) != chunk - 1) ++mappings_;
  if (chunk_at(data + page_bytes_) == chunk + 1) --mappings_;
  chunks_[data] = chunk;
}

void PageFile::note_unmapped(std::byte* data) {
  const int64_t chunk = chunk_at(data);
  --uses_[static_cast<size_t>(chunk)];
  if (chunk == 0 || chunk_at(data - page_bytes_) != chunk - 1) --mappings_;
  if (chunk_at(data + page_bytes_) == chunk + 1) ++mappings_;
  chunks_.erase(data);
}

int64_t PageFile::measured_bytes() const {
  struct stat status = {};
  if (::fstat(file_, &status) != 0) throw Error(ErrorCode::io, "the page file cannot be asked: " + reason());
  return static_cast<int64_t>(status.st_blocks) * 512;
}

}  // namespace tidemark
