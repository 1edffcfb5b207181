// What a command writes down of its allocator when asked: its calls, to be replayed by `bench allocator`, and a
// snapshot of its blocks and latest events, with the places in the program where they were taken.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "memory/allocator/caching_allocator.h"
#include "memory/call_trace/recording_allocator.h"

namespace tidemark::cli {

struct RecordOptions {
  std::string calls;     // file; empty: none
  std::string snapshot;  // the same
};

// --record-calls and --memory-snapshot
void add_record_options(CLI::App& app, RecordOptions& options);

// Throws Error(config) if records are wanted of a training run that has no allocator.
void refuse_records_without_allocator(const RecordOptions& options, bool data_is_packed);

class AllocatorRecords {
 public:
  // debug: memory.debug; blocks that are left at the end are then named by place. Throws Error(io) if a file cannot be
  // written: not only at the end of a long run.
  AllocatorRecords(RecordOptions options, bool debug);

  bool wanted() const { return !options_.calls.empty() || !options_.snapshot.empty(); }
  // For the allocator that is to be written down.
  memory::AllocatorOptions allocator_options() const;
  // The allocator that calls must go through: `below`, or one around it, which this object owns.
  memory::Allocator& around(memory::Allocator& below);
  // Writes the files. Throws Error(io).
  void write(const memory::CachingAllocator& allocator) const;

 private:
  const RecordOptions options_;
  const bool debug_;
  std::unique_ptr<memory::RecordingAllocator> recorder_;
};

}  // namespace tidemark::cli
