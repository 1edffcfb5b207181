#include "device/sim/sim_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"

namespace tidemark {

SimMemory::SimMemory(const std::string& name, int64_t total_bytes, const SimOptions& options)
    : DeviceMemory(DeviceKind::sim, "sim:" + name),
      poison_(options.poison),
      ledger_(name, total_bytes, options.ledger_directory),
      pages_("sim:" + name, options.file_kind, HostPages::Children::have_none),
      after_fork_([this] { ledger_.drop_in_child(); }) {}

int64_t SimMemory::committable_bytes() const { return std::min(free_bytes(), room_.committable_bytes()); }

DeviceUse SimMemory::use() const {
  const SimBooks books = ledger_.books();
  return {books.total_bytes, books.free_bytes(), books.own_bytes, books.foreign_bytes};
}

// The base has looked for room; another process can have been faster.
void SimMemory::take(int64_t bytes) {
  if (ledger_.take(bytes)) return;
  const SimBooks books = ledger_.books();
  throw Error(ErrorCode::out_of_memory,
              fmt::format("device '{}' is asked for {} more with {} committed, {} of {} are free; stop other programs "
                          "or lower memory.budget",
                          name(), format_bytes(bytes), format_bytes(committed_bytes()),
                          format_bytes(books.free_bytes()), format_bytes(books.total_bytes)));
}

std::byte* SimMemory::reserve_addresses(int64_t bytes) {
  std::byte* data = pages_.reserve(bytes);
  access_.add_addresses(data, bytes);
  return data;
}

void SimMemory::release_addresses(std::byte* data, int64_t bytes) {
  access_.remove_addresses(data);
  if (!ledger_.dropped()) pages_.release(data, bytes);
}

void SimMemory::commit_pages(std::byte* data, int64_t bytes) {
  take(bytes);
  try {
    pages_.commit(data, bytes);
    room_.note_taken(bytes);
  } catch (...) {
    ledger_.give_back(bytes);
    throw;
  }
  if (poison_) std::memset(data, kPoison, static_cast<size_t>(bytes));
  access_.add_pages(data, bytes);
}

void SimMemory::decommit_pages(std::byte* data, int64_t bytes) {
  if (ledger_.dropped()) return;
  access_.remove_pages(data, bytes);
  pages_.decommit(data, bytes);
  room_.note_given_back(bytes);
  ledger_.give_back(bytes);
}

int64_t SimMemory::bytes_of(std::span<const PageId> pages) const {
  return static_cast<int64_t>(pages.size()) * granularity_bytes();
}

void SimMemory::create_physical(std::span<PageId> pages) {
  take(bytes_of(pages));
  size_t created = 0;
  try {
    pages_.create(pages, [this] { return capacity_bytes(); });
    room_.note_taken(bytes_of(pages));
    created = pages.size();
    if (poison_) pages_.fill(pages, kPoison);
  } catch (...) {
    if (created > 0) pages_.destroy(pages);
    ledger_.give_back(bytes_of(pages));
    throw;
  }
}

void SimMemory::destroy_physical(std::span<const PageId> pages) {
  if (ledger_.dropped()) return;
  pages_.destroy(pages);
  room_.note_given_back(bytes_of(pages));
  ledger_.give_back(bytes_of(pages));
}

void SimMemory::map_physical(std::byte* data, std::span<const PageId> pages) {
  pages_.map(data, pages);
  access_.add_pages(data, bytes_of(pages));
}

void SimMemory::unmap_physical(std::byte* data, int64_t bytes) {
  if (ledger_.dropped()) return;
  access_.remove_pages(data, bytes);
  pages_.unmap(data, bytes);
}

}  // namespace tidemark
