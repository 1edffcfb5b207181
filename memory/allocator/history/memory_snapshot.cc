#include "memory/allocator/history/memory_snapshot.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace tidemark::memory {
namespace {

using Json = nlohmann::ordered_json;

std::string_view to_string(MemoryEvent::Kind kind) {
  switch (kind) {
    case MemoryEvent::Kind::allocated:
      return "allocated";
    case MemoryEvent::Kind::freed:
      return "freed";
    case MemoryEvent::Kind::refused:
      return "refused";
    case MemoryEvent::Kind::trimmed:
      return "trimmed";
  }
  return "";
}

Json categories_json(const CategoryBytes& bytes) {
  Json json = Json::object();
  for (size_t i = 0; i < bytes.size(); ++i) json[std::string(to_string(static_cast<Category>(i)))] = bytes[i];
  return json;
}

Json stats_json(const AllocatorStats& stats) {
  return {{"requested_bytes", stats.requested_bytes},
          {"allocated_bytes", stats.allocated_bytes},
          {"allocated_by_category", categories_json(stats.allocated_by_category)},
          {"reserved_bytes", stats.reserved_bytes},
          {"cached_bytes", stats.cached_bytes},
          {"pending_bytes", stats.pending_bytes},
          {"slack_bytes", stats.slack_bytes},
          {"device_free_bytes", stats.device_free_bytes},
          {"allocated_peak_bytes", stats.allocated_peak_bytes},
          {"reserved_peak_bytes", stats.reserved_peak_bytes},
          {"live_blocks", stats.live_blocks},
          {"out_of_memory", stats.out_of_memory}};
}

Json block_json(const SnapshotBlock& block) {
  return {{"address", fmt::format("{:#x}", block.address)},
          {"bytes", block.bytes},
          {"category", std::string(to_string(block.category))},
          {"stack", block.stack},
          {"time_us", block.time_us}};
}

// Trace events of one snapshot, in order of time.
class ChromeTrace {
 public:
  explicit ChromeTrace(const MemorySnapshot& snapshot) : snapshot_(snapshot) {
    // What was live before the first kept event: what is live now or went back later, and came in none of the events.
    std::set<uint64_t> came;
    for (const MemoryEvent& event : snapshot.events) {
      if (event.kind == MemoryEvent::Kind::allocated) came.insert(event.block.address);
      if (event.kind == MemoryEvent::Kind::freed && came.erase(event.block.address) == 0) early_.push_back(event.block);
    }
    for (const SnapshotBlock& block : snapshot.blocks) {
      if (!came.contains(block.address)) early_.push_back(block);
    }
  }

  Json write() {
    const int64_t start_us = snapshot_.events.empty() ? 0 : snapshot_.events.front().block.time_us;
    for (const SnapshotBlock& block : early_) slice("b", block, start_us, 0);
    counter(start_us);
    for (const MemoryEvent& event : snapshot_.events) write(event);
    return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}};
  }

 private:
  Json common(const char* phase, std::string name, int64_t time_us, int32_t thread) const {
    return {{"ph", phase}, {"name", std::move(name)}, {"cat", "memory"}, {"ts", time_us}, {"pid", 1}, {"tid", thread}};
  }

  void counter(int64_t time_us) {
    Json event = common("C", "allocated bytes", time_us, 0);
    event["args"] = categories_json(allocated_);
    events_.push_back(std::move(event));
  }

  Json arguments(const SnapshotBlock& block) const {
    Json args = {{"bytes", block.bytes}, {"address", fmt::format("{:#x}", block.address)}};
    if (block.stack >= 0) args["stack"] = snapshot_.stacks[static_cast<size_t>(block.stack)];
    return args;
  }

  // A block's slice begins or ends.
  void slice(const char* phase, const SnapshotBlock& block, int64_t time_us, int32_t thread) {
    allocated_[static_cast<size_t>(block.category)] += *phase == 'b' ? block.bytes : -block.bytes;
    Json json = common(phase, std::string(to_string(block.category)), time_us, thread);
    json["id"] = fmt::format("{:#x}", block.address);
    json["args"] = arguments(block);
    events_.push_back(std::move(json));
  }

  void write(const MemoryEvent& event) {
    const int64_t time_us = event.block.time_us;
    if (event.kind == MemoryEvent::Kind::allocated || event.kind == MemoryEvent::Kind::freed) {
      slice(event.kind == MemoryEvent::Kind::allocated ? "b" : "e", event.block, time_us, event.thread);
      return counter(time_us);
    }
    Json json = common("i", std::string(to_string(event.kind)), time_us, event.thread);
    json["s"] = "p";
    json["args"] = arguments(event.block);
    events_.push_back(std::move(json));
  }

  const MemorySnapshot& snapshot_;
  std::vector<SnapshotBlock> early_;
  CategoryBytes allocated_{};
  Json events_ = Json::array();
};

}  // namespace

std::string to_json(const MemorySnapshot& snapshot) {
  Json json = {{"stats", stats_json(snapshot.stats)}, {"blocks", Json::array()}, {"events", Json::array()}};
  for (const SnapshotBlock& block : snapshot.blocks) json["blocks"].push_back(block_json(block));
  for (const MemoryEvent& event : snapshot.events) {
    Json entry = block_json(event.block);
    entry["event"] = std::string(to_string(event.kind));
    entry["thread"] = event.thread;
    json["events"].push_back(std::move(entry));
  }
  json["dropped_events"] = snapshot.dropped_events;
  json["stacks"] = snapshot.stacks;
  return json.dump(1);
}

std::string to_chrome_trace(const MemorySnapshot& snapshot) { return ChromeTrace(snapshot).write().dump(); }

}  // namespace tidemark::memory
