#include "framework/cli/allocator_records.h"

#include <utility>

#include "base/error.h"
#include "framework/cli/options.h"
#include "framework/cli/output_file.h"

namespace tidemark::cli {
namespace {

constexpr int64_t kKeptEvents = 100'000;

template <class Write>
void write_if_wanted(const std::string& path, Write&& write) {
  if (!path.empty()) write_output_file(path, write);
}

}  // namespace

void add_record_options(CLI::App& app, RecordOptions& options) {
  app.add_option("--record-calls", options.calls,
                 "Write the calls of the allocator into this file, for `tidemark bench allocator`")
      ->check(not_empty());
  app.add_option(
         "--memory-snapshot", options.snapshot,
         "Write the allocator's blocks at the end, its latest 100000 events, and where in the program they come "
         "from, into this file as JSON; a name that ends in .trace.json: in the form that chrome://tracing and "
         "ui.perfetto.dev open")
      ->check(not_empty());
}

void refuse_records_without_allocator(const RecordOptions& options, bool data_is_packed) {
  if (data_is_packed || (options.calls.empty() && options.snapshot.empty())) return;
  throw Error(
      ErrorCode::config,
      "--record-calls and --memory-snapshot look at the allocator, which this run does not use: its data is not "
      "packed, so every byte lies in the planned arena (see tidemark plan --svg)");
}

AllocatorRecords::AllocatorRecords(RecordOptions options, bool debug) : options_(std::move(options)), debug_(debug) {
  for (const std::string& path : {options_.calls, options_.snapshot}) {
    if (!path.empty()) refuse_unwritable(path);
  }
}

memory::AllocatorOptions AllocatorRecords::allocator_options() const {
  const bool snapshot = !options_.snapshot.empty();
  return {.history = {.capture_stacks = debug_ || snapshot, .kept_events = snapshot ? kKeptEvents : 0}};
}

memory::Allocator& AllocatorRecords::around(memory::Allocator& below) {
  if (options_.calls.empty()) return below;
  recorder_ = std::make_unique<memory::RecordingAllocator>(below, options_.calls);
  return *recorder_;
}

void AllocatorRecords::write(const memory::CachingAllocator& allocator) const {
  write_if_wanted(options_.calls, [&](std::ostream& out) { memory::write_call_trace(recorder_->trace(), out); });
  write_if_wanted(options_.snapshot, [&](std::ostream& out) {
    const memory::MemorySnapshot snapshot = allocator.snapshot();
    out << (options_.snapshot.ends_with(".trace.json") ? memory::to_chrome_trace(snapshot) : memory::to_json(snapshot));
  });
}

}  // namespace tidemark::cli
