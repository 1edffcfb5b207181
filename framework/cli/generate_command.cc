#include <filesystem>
#include <iostream>

#include "base/error.h"
#include "base/log.h"
#include "framework/cli/allocator_records.h"
#include "framework/cli/budget_watch.h"
#include "framework/cli/commands.h"
#include "framework/cli/generate_report.h"
#include "framework/cli/lists.h"
#include "framework/cli/options.h"
#include "framework/cli/run_device.h"
#include "framework/cli/stop_request.h"
#include "framework/cli/text_model.h"
#include "framework/config/print.h"
#include "framework/train/planned_run.h"
#include "memory/allocator/caching_allocator.h"
#include "ops/all_ops.h"

namespace tidemark::cli {
namespace {

struct GenerateOptions {
  ConfigOptions config;
  std::string checkpoint;
  std::string prompt = "\n";
  bool stream = false;
  RecordOptions records;
  inference::GenerateRequest request;
};

int parse(GenerateOptions& options, int argc, char** argv) {
  CLI::App app("Goes on with a text by a trained model", "tidemark generate");
  add_config_options(app, options.config)->required(false);
  inference::GenerateRequest& request = options.request;
  app.add_option("--checkpoint", options.checkpoint,
                 "A run's folder of checkpoints, or one of them. Default: checkpoint.dir, and the initial values of "
                 "train.seed if it holds none. Without -c, the configuration is the one that the checkpoint keeps")
      ->check(not_empty());
  app.add_option("--prompt", options.prompt, "The text to go on with; default: a line feed");
  app.add_option("--tokens", request.tokens, "New tokens (bytes of text) of each sample")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--samples", request.samples, "Texts that go on from the prompt, side by side")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 16))
      ->capture_default_str();
  app.add_option("--seed", request.sampling.seed, "Of the draws")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--temperature", request.sampling.temperature,
                 "Logits are divided by it; 0: always the likeliest token")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--top-k", request.sampling.top_k, "Draw among the so many likeliest tokens; 0: among all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--stream", options.stream, "Write the text token by token; one sample");
  add_record_options(app, options.records);
  const int code = parse_command_line(app, argc, argv);
  if (code >= 0) return code;
  const auto refuse = [](const char* what) { throw Error(ErrorCode::config, what); };
  if (options.config.file.empty() && options.checkpoint.empty()) refuse("needs -c FILE, --checkpoint FOLDER, or both");
  if (options.stream && (options.config.json || request.samples > 1)) refuse("--stream takes one sample and no --json");
  return -1;
}

// The newest checkpoint of a run's folder, or the folder itself; nullptr if there is none.
std::unique_ptr<checkpoint::Checkpoint> open_checkpoint(const std::string& folder) {
  if (folder.empty()) return nullptr;
  if (std::filesystem::exists(std::filesystem::path(folder) / "manifest.json"))
    return std::make_unique<checkpoint::Checkpoint>(folder);
  return checkpoint::find_newest(folder);
}

// What the options name, or the configuration where they name nothing.
struct Source {
  config::LoadedConfig config;
  std::unique_ptr<checkpoint::Checkpoint> checkpoint;  // nullptr: initial values
};

Source open_source(const GenerateOptions& options) {
  Source source;
  if (!options.checkpoint.empty()) {
    source.checkpoint = open_checkpoint(options.checkpoint);
    if (source.checkpoint == nullptr)
      throw Error(ErrorCode::data, "--checkpoint: no checkpoint is in '" + options.checkpoint + "'");
  }
  source.config =
      options.config.file.empty()
          ? config::parse_config(source.checkpoint->manifest().config_yaml, "the checkpoint's configuration", "",
                                 options.config.overrides, all_lists())
          : config::load_config(options.config.file, options.config.overrides, all_lists());
  if (source.checkpoint == nullptr) source.checkpoint = open_checkpoint(source.config.config.checkpoint.dir);
  return source;
}

// Keys of the model that leave all shapes as they are (heads) pass the look at tensors, and the text is nonsense.
void warn_of_other_model(const Source& source) {
  const checkpoint::Manifest& saved = source.checkpoint->manifest();
  checkpoint::Manifest now = saved;
  now.config_yaml = config::to_yaml(source.config.config);
  for (const std::string& line : checkpoint::differences(saved, now))
    if (line.starts_with("model.") && !line.starts_with("model.dropout"))
      log(LogLevel::warning, "weights_differ", {{"from", source.checkpoint->folder()}, {"what", line}});
}

void fill(inference::ModelWeights& weights, const Source& source) {
  if (source.checkpoint != nullptr) {
    weights.load(*source.checkpoint);
    warn_of_other_model(source);
    log(LogLevel::info, "weights",
        {{"from", source.checkpoint->folder()}, {"step", source.checkpoint->manifest().step}});
    return;
  }
  const config::Config& config = source.config.config;
  weights.initialise(static_cast<uint64_t>(config.train.seed));
  log(LogLevel::warning, "weights",
      {{"from", "initial values, nothing is learnt"}, {"checkpoint_dir", config.checkpoint.dir}});
}

Generated generate(const GenerateOptions& options, const Source& source, RunDevice& device) {
  const config::Config& config = source.config.config;
  const memory::Budget budget = train::make_budget(source.config, *device.memory);
  const ops::OpSet ops = ops::all_ops();
  const data::DataInfo data = text_info(source.config);
  memory::PagePool pages(*device.memory);
  AllocatorRecords records(options.records, config.memory.debug);
  memory::CachingAllocator caching(pages, records.allocator_options());
  memory::Allocator& allocator = records.around(caching);
  inference::ModelWeights weights(*config.model, data, ops.table(), allocator);
  fill(weights, source);
  inference::Generator generator(*config.model, data, ops, weights, *device.memory, allocator,
                                 {.threads = threads_of(config)});
  Generated generated;
  generated.model = config.model->kind();
  generated.device = device.choice.name;
  if (source.checkpoint != nullptr) {
    generated.checkpoint = source.checkpoint->folder();
    generated.checkpoint_step = source.checkpoint->manifest().step;
  }
  generated.request = options.request;
  BudgetWatch watch(make_watermark(config.memory, budget.limit_bytes()), generated.model, *device.memory,
                    budget.limit_bytes());
  inference::GenerateRequest watched = options.request;
  watched.on_token = [&](int64_t sample, int32_t token) {
    watch.look();
    if (options.request.on_token) options.request.on_token(sample, token);
  };
  generated.report = generator.generate(watched);
  generated.memory = allocator.stats();
  generated.reserved_peak_bytes = device.memory->peak_committed_bytes();
  generated.budget_bytes = budget.limit_bytes();
  generated.longest_text = generator.longest_text();
  if (records.wanted()) records.write(caching);
  return generated;
}

}  // namespace

int run_generate(int argc, char** argv) {
  GenerateOptions options;
  if (const int code = parse(options, argc, argv); code >= 0) return code;
  const Source source = open_source(options);
  RunDevice device = open_device(source.config);
  options.request.prompt = tokens_of(options.prompt);
  options.request.stop = &stop_requested();
  if (options.stream) {
    std::cout << options.prompt << std::flush;
    options.request.on_token = [](int64_t, int32_t token) { std::cout << static_cast<char>(token) << std::flush; };
  }
  take_stop_signals();
  const Generated generated = generate(options, source, device);
  if (options.config.json) {
    std::cout << generate_json(generated).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
    return 0;
  }
  options.stream ? void(std::cout << '\n') : print_texts(generated, std::cout);
  std::cout.flush();
  print_figures(generated, std::cerr);
  return 0;
}

}  // namespace tidemark::cli
