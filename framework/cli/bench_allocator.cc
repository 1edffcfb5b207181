#include "framework/cli/bench_allocator.h"

#include <fmt/format.h>

#include <iostream>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "framework/cli/input_file.h"
#include "framework/cli/options.h"
#include "framework/cli/output_file.h"
#include "memory/bench/allocator_bench.h"
#include "memory/bench/call_generators.h"

namespace tidemark::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::vector<std::string> generate;
  std::string live = "256MiB";
  std::string limit;
  std::string write;
  bool hits = false;
  bool json = false;
  memory::CallGeneratorOptions generator;
  memory::AllocatorBenchOptions bench;
};

std::string generator_names() {
  std::string names;
  for (const memory::CallGenerator& generator : memory::call_generators()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", generator.name);
  }
  return names;
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option(
      "traces", arguments.files,
      "Recorded calls: CSV with call,id,bytes,category, as train, generate and soak --record-calls write them");
  app.add_option("--generate", arguments.generate, "Generated calls: " + generator_names() + ", or all")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--calls", arguments.generator.calls, "About so many calls of each generated trace")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  app.add_option("--live", arguments.live, "About the most bytes that are live at once in generated traces: 1GiB")
      ->capture_default_str();
  app.add_option("--seed", arguments.generator.seed, "Seed of generated traces")->capture_default_str();
  app.add_option("--limit", arguments.limit,
                 "The device gives no more than this: 512MiB; without it: what this machine has")
      ->check(not_empty());
  app.add_flag("--tight", arguments.bench.tight, "The device gives no more than the bound of each trace");
  app.add_option("--repeats", arguments.bench.repeats, "Replays of each trace; times are medians")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--peer", arguments.bench.peers,
                 "Also the time of malloc and free of this library (a path; glibc is this program's own)")
      ->allow_extra_args(false);
  app.add_flag("--hits", arguments.hits, "Also the time of a call that finds its block in the cache");
  app.add_option("--write", arguments.write, "Write the one generated trace into this file and do no more")
      ->check(not_empty());
  app.add_flag("--json", arguments.json, "One JSON object instead of a table");
}

std::vector<memory::CallTrace> generate(const Arguments& arguments) {
  memory::CallGeneratorOptions options = arguments.generator;
  options.live_bytes = parse_bytes(arguments.live);
  if (options.live_bytes < int64_t{1} << 20) throw Error(ErrorCode::config, "--live must be at least 1MiB");
  std::vector<memory::CallTrace> traces;
  for (const std::string& name : arguments.generate) {
    const memory::CallGenerator* one = memory::find_call_generator(name);
    if (!one && name != "all")
      throw Error(ErrorCode::config, fmt::format("--generate: no '{}'; write {} or all", name, generator_names()));
    for (const memory::CallGenerator& generator : memory::call_generators()) {
      if (!one || one == &generator) traces.push_back(generator.generate(options));
    }
  }
  return traces;
}

void write_trace(const std::vector<memory::CallTrace>& traces, const std::string& path) {
  if (traces.size() != 1) throw Error(ErrorCode::config, "--write takes one generated trace: give one --generate");
  write_output_file(path, [&](std::ostream& out) { memory::write_call_trace(traces.front(), out); });
}

}  // namespace

int run_bench_allocator(int argc, char** argv) {
  CLI::App app("Replays calls on the caching allocator and says what memory and time they took",
               "tidemark bench allocator");
  Arguments arguments;
  add_options(app, arguments);
  if (const int code = parse_command_line(app, argc, argv); code >= 0) return code;
  if (!arguments.limit.empty()) arguments.bench.limit_bytes = parse_bytes(arguments.limit);
  std::vector<memory::CallTrace> traces = generate(arguments);
  if (!arguments.write.empty()) {
    write_trace(traces, arguments.write);
    return 0;
  }
  for (const std::string& file : arguments.files) traces.push_back(read_input_file(file, memory::read_call_trace_file));
  if (traces.empty() && !arguments.hits)
    throw Error(ErrorCode::config, "name a trace, or --generate " + generator_names() + ", or all, or --hits");

  start_logging(LogLevel::warning, 0);  // every replay is a device of its own, and each would say what its pages are

  memory::AllocatorBenchReport report;
  report.options = arguments.bench;
  for (const memory::CallTrace& trace : traces) memory::bench_call_trace(trace, report);
  if (arguments.hits) memory::bench_hits(report);
  if (arguments.json)
    std::cout << memory::to_json(report) << '\n';
  else
    memory::print_table(report, std::cout);
  return 0;
}

}  // namespace tidemark::cli
