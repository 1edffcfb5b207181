// Pages of this machine and addresses for them: what a DeviceMemory on the host asks the kernel for. Keeps no books.
//
// Note [Host pages]
// A range is private anonymous memory without access rights. Commit gives access and populates every page at once, so
// that the kernel has given them when the call returns; decommit drops the pages and takes the access away again.
// Granules are 2 MiB and aligned, so that the kernel can use huge pages: dropping half a huge page would free nothing.
// Pages are left out of core dumps. Pages without addresses are chunks of a file (Note [Page file]) that is opened when
// the first is created.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "device/device_memory.h"
#include "device/page_file.h"

namespace tidemark {

// Not thread-safe.
class HostPages {
 public:
  static constexpr int64_t kGranularityBytes = int64_t{2} << 20;

  // `device` is what messages call the device. `file_kind` is for tests. Of ranges, forked children inherit copies or
  // have none; of created pages they never have any.
  enum class Children { inherit, have_none };
  explicit HostPages(std::string device, PageFileKind file_kind = PageFileKind::automatic,
                     Children children = Children::inherit);

  // As the private functions of DeviceMemory.
  std::byte* reserve(int64_t bytes);
  void release(std::byte* data, int64_t bytes);
  void commit(std::byte* data, int64_t bytes);
  void decommit(std::byte* data, int64_t bytes);
  // Resident and swapped bytes of the private mappings of these addresses, from /proc/self/smaps. Throws Error(io).
  int64_t measure(const std::byte* data, int64_t bytes) const;

  // max_bytes tells how much the file can ever hold; asked by the first call.
  void create(std::span<PageId> pages, const std::function<int64_t()>& max_bytes);
  void destroy(std::span<const PageId> pages) { file_->destroy(pages); }
  void map(std::byte* data, std::span<const PageId> pages) { file_->map(data, pages); }
  void unmap(std::byte* data, int64_t bytes);
  void fill(std::span<const PageId> pages, uint8_t value) { file_->fill(pages, value); }
  int64_t measure_file() const { return file_ ? file_->measured_bytes() : 0; }
  PageFileKind file_kind() const { return file_ ? file_->kind() : file_kind_; }

 private:
  void hide_from_children(std::byte* data, int64_t bytes) const;

  const std::string device_;
  const PageFileKind file_kind_;
  const Children children_;
  std::unique_ptr<PageFile> file_;  // from the first create() on
};

}  // namespace tidemark
