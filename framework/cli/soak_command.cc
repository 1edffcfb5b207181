#include <algorithm>
#include <functional>
#include <iostream>

#include "base/error.h"
#include "framework/cli/allocator_records.h"
#include "framework/cli/commands.h"
#include "framework/cli/lists.h"
#include "framework/cli/options.h"
#include "framework/cli/plan_interruptibly.h"
#include "framework/cli/run_device.h"
#include "framework/cli/soak_report.h"
#include "framework/cli/stop_request.h"
#include "framework/cli/text_model.h"
#include "framework/inference/generator.h"
#include "framework/train/run_books.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/allocator/decorators/allocator_decorator.h"
#include "ops/all_ops.h"

namespace tidemark::cli {
namespace {

constexpr int kGrowthExitCode = 5;

struct SoakOptions {
  ConfigOptions config;
  int64_t steps = 200;
  bool generate = false;
  int64_t tokens = 64;
  RecordOptions records;
};

int parse(SoakOptions& options, int argc, char** argv) {
  CLI::App app("Repeats a step and says whether memory is stable or growing; exit code 5 if it grows", "tidemark soak");
  add_config_options(app, options.config);
  app.add_option("--steps", options.steps, "Steps, or requests with --generate")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  auto* generate = app.add_flag("--generate", options.generate,
                                "Repeats a request to go on with a text, on initial values, instead of training steps");
  app.add_option("--tokens", options.tokens, "New tokens of each request, at most what the model's context holds")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->capture_default_str()
      ->needs(generate);
  add_record_options(app, options.records);
  app.footer(
      "Columns, after each step: allocated: live bytes; reserved: held of the device; kv cache: most during the "
      "request; "
      "weights: part of allocated; device free: nobody's; host: this process's memory outside the device; bodies: "
      "compiled for the shapes of packed data, kept in a cache of the host that fills at first.");
  return parse_command_line(app, argc, argv);
}

// Takes samples into memory that is there before the first one: the record of a long run must not look like a leak.
class Record {
 public:
  Record(const DeviceMemory& device, int64_t steps, std::ostream& out)
      : device_(device), samples_(static_cast<size_t>(steps)), out_(out) {}

  void take(const memory::MemoryBooks& books, int64_t compiled_bodies, int64_t kv_cache_peak_bytes = 0) {
    TM_CHECK(taken_ < samples_.size(), "more samples than steps");
    if (taken_ == 0) print_soak_header(out_);  // a refused run has no table
    SoakSample& sample = samples_[taken_++];
    sample = {.step = static_cast<int64_t>(taken_),
              .memory = memory::read_figures(device_, books),
              .kv_cache_peak_bytes = kv_cache_peak_bytes,
              .compiled_bodies = compiled_bodies};
    print_soak_line(sample, out_);
    out_.flush();
  }

  // Fewer than steps if the run was stopped.
  std::vector<SoakSample> samples() && {
    samples_.resize(taken_);
    return std::move(samples_);
  }

 private:
  const DeviceMemory& device_;
  std::vector<SoakSample> samples_;
  size_t taken_ = 0;
  std::ostream& out_;
};

// The steps of a training run, evaluations and all, without its checkpoints. Gives the budget.
int64_t soak_training(const config::LoadedConfig& config, const SoakOptions& soak, RunDevice& device, Record& record) {
  const ops::OpSet ops = ops::all_ops();
  const memory::Budget budget = train::make_budget(config, *device.memory);
  const train::PlannedRun planned = plan_interruptibly(config, ops, *device.memory, budget, "tidemark soak");
  take_stop_signals();
  train::check_budget(planned, budget);
  const config::MemorySection& memory = config.config.memory;
  refuse_records_without_allocator(soak.records, planned.batch.packed());
  AllocatorRecords records(soak.records, memory.debug);
  const train::TrainingRun::Decorate decorate = [&records](memory::Allocator& below) {
    return std::make_unique<memory::AllocatorDecorator>(records.around(below));
  };
  train::TrainingRun run(planned, *device.memory, memory.growth, memory.debug, decorate, records.allocator_options());
  run.trainer().initialise(planned.initializers);
  train::RunOptions options;
  options.eval_every = config.config.train.eval_every;
  options.stop = &stop_requested();
  options.at_step_boundary = [&] {
    const int64_t bodies = run.dynamic() == nullptr ? 0 : static_cast<int64_t>(run.dynamic()->size());
    record.take(train::read_books_between_steps(run), bodies);
  };
  run.run(options);
  if (run.allocator() != nullptr) records.write(*run.allocator());
  return budget.limit_bytes();
}

CategoryBytes kv_cache(int64_t bytes) {
  CategoryBytes live{};
  live[static_cast<size_t>(Category::kv_cache)] = bytes;
  return live;
}

// What the weights are is nothing to memory, so they are initial ones. Gives the budget.
int64_t soak_generation(const config::LoadedConfig& loaded, const SoakOptions& options, RunDevice& device,
                        Record& record) {
  take_stop_signals();
  const config::Config& config = loaded.config;
  const memory::Budget budget = train::make_budget(loaded, *device.memory);
  const ops::OpSet ops = ops::all_ops();
  const data::DataInfo data = text_info(loaded);
  memory::PagePool pages(*device.memory);
  AllocatorRecords records(options.records, config.memory.debug);
  memory::CachingAllocator caching(pages, records.allocator_options());
  memory::Allocator& allocator = records.around(caching);
  inference::ModelWeights weights(*config.model, data, ops.table(), allocator);
  weights.initialise(static_cast<uint64_t>(config.train.seed));
  inference::Generator generator(*config.model, data, ops, weights, *device.memory, allocator,
                                 {.threads = threads_of(config)});
  const inference::GenerateRequest request{
      .prompt = {0}, .tokens = std::min(options.tokens, generator.longest_text() - 1), .stop = &stop_requested()};
  for (int64_t step = 0; step < options.steps && !stop_requested(); ++step) {
    const inference::GenerateReport report = generator.generate(request);
    memory::MemoryBooks books = memory::books_of(allocator.stats());
    const int64_t cache_bytes = generator.kv_cache_bytes();
    books += memory::books_of_pages(kv_cache(cache_bytes), cache_bytes + pages.cached_bytes());
    record.take(books, 0, report.kv_cache_bytes);  // the same request: no new shapes
  }
  records.write(caching);
  return budget.limit_bytes();
}

std::vector<memory::GrowthSample> growth_samples(const std::vector<SoakSample>& samples) {
  std::vector<memory::GrowthSample> out;
  for (const SoakSample& sample : samples) {
    out.push_back(growth_sample(sample.memory));
    out.back().host_cache_entries = sample.compiled_bodies;
  }
  return out;
}

}  // namespace

int run_soak(int argc, char** argv) {
  SoakOptions options;
  if (const int code = parse(options, argc, argv); code >= 0) return code;
  options.config.overrides.push_back("train.steps=" + std::to_string(options.steps));
  const config::LoadedConfig config = config::load_config(options.config.file, options.config.overrides, all_lists());
  RunDevice device = open_device(config);
  Record record(*device.memory, options.steps, options.config.json ? std::cerr : std::cout);
  const int64_t budget_bytes = options.generate ? soak_generation(config, options, device, record)
                                                : soak_training(config, options, device, record);
  Soaked soaked{.model = std::string(config.config.model->kind()),
                .device = device.choice.name,
                .what = options.generate ? "generate" : "train",
                .budget_bytes = budget_bytes,
                .samples = std::move(record).samples()};
  soaked.verdict = memory::judge_growth(growth_samples(soaked.samples));
  if (options.config.json) {
    std::cout << soak_json(soaked).dump(2) << std::endl;
  } else {
    std::cout << describe(soaked.verdict) << std::endl;
  }
  return soaked.verdict.growing ? kGrowthExitCode : 0;
}

}  // namespace tidemark::cli
