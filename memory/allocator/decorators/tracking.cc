#include "memory/allocator/decorators/tracking.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tidemark::memory {
namespace {

thread_local const MemoryOwner* innermost = nullptr;

}  // namespace

MemoryOwner::MemoryOwner(std::string name) : name_(std::move(name)), outer_(innermost) { innermost = this; }

MemoryOwner::~MemoryOwner() { innermost = outer_; }

const std::string& MemoryOwner::current() {
  static const std::string nobody = "nobody";
  return innermost ? innermost->name_ : nobody;
}

std::byte* TrackingAllocator::allocate(const AllocationRequest& request) {
  std::byte* data = upstream().allocate(request);
  live_.insert(data, {request.bytes, MemoryOwner::current()});
  return data;
}

void TrackingAllocator::deallocate(std::byte* address) {
  live_.take(address);
  upstream().deallocate(address);
}

std::vector<Holding> TrackingAllocator::holdings() const {
  std::map<std::string, Holding> by_owner;
  live_.visit([&](std::byte*, const Entry& entry) {
    Holding& holding = by_owner[entry.owner];
    holding.owner = entry.owner;
    ++holding.blocks;
    holding.bytes += entry.bytes;
  });
  std::vector<Holding> holdings;
  for (auto& [owner, holding] : by_owner) holdings.push_back(std::move(holding));
  std::stable_sort(holdings.begin(), holdings.end(),
                   [](const Holding& a, const Holding& b) { return a.bytes > b.bytes; });
  return holdings;
}

}  // namespace tidemark::memory
