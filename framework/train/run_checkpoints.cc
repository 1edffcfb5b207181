#include "framework/train/run_checkpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "framework/train/plan_digest.h"

namespace tidemark::train {
namespace {

// Exact: prints and parses without a rounding.
std::string print_double(double value) { return fmt::format("{:a}", value); }
double parse_double(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

constexpr const char* kBestLoss = "early_stop.best_loss";
constexpr const char* kRounds = "early_stop.rounds_without_better";
constexpr const char* kEvaluated = "early_stop.evaluated_step";

EarlyStopState early_stop_state(const checkpoint::Manifest& manifest, const std::string& folder) {
  const auto end = manifest.state.end();
  const auto best = manifest.state.find(kBestLoss), rounds = manifest.state.find(kRounds),
             evaluated = manifest.state.find(kEvaluated);
  if (best == end || rounds == end || evaluated == end)
    throw Error(ErrorCode::data, "checkpoint '" + folder + "' has no early-stop state; it is of another format");
  const auto integer = [](const std::string& text) { return int64_t{std::strtoll(text.c_str(), nullptr, 10)}; };
  return {parse_double(best->second), integer(rounds->second), integer(evaluated->second)};
}

}  // namespace

RunCheckpoints::RunCheckpoints(CheckpointOptions options, std::string config_yaml, std::string device,
                               const PlannedRun& planned, TrainingRun& run)
    : options_(std::move(options)),
      config_yaml_(std::move(config_yaml)),
      device_(std::move(device)),
      planned_(planned),
      run_(run) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

void FolderLock::lock(const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) throw Error(ErrorCode::io, "cannot create folder '" + dir + "': " + error.message());
  descriptor_ = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0 || flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) return;  // a file system without locks: as before there were any
  throw Error(ErrorCode::io,
              "checkpoint.dir '" + dir + "' is in use by another run; wait for it or name another folder");
}

void RunCheckpoints::lock_folder() {
  if (enabled()) lock_.lock(options_.dir);
}

void RunCheckpoints::refuse_used_folder() const {
  if (!enabled()) return;
  const auto folders = checkpoint::list_checkpoints(options_.dir);
  if (folders.empty()) return;
  throw Error(ErrorCode::config, "checkpoint.dir '" + options_.dir + "' holds checkpoints of an earlier run ('" +
                                     folders.back() +
                                     "'); go on with --resume, start anew with --restart, or name another folder");
}

void RunCheckpoints::remove_earlier() const {
  if (!enabled()) return;
  for (const std::string& folder : checkpoint::list_checkpoints(options_.dir)) std::filesystem::remove_all(folder);
}

checkpoint::Manifest RunCheckpoints::manifest() const {
  checkpoint::Manifest m;
  m.step = run_.trainer().steps_done();
  m.sampler = run_.position();
  m.seed = planned_.batch.seed;
  m.config_yaml = config_yaml_;
  m.optimizer = std::string(planned_.optimizer->name());
  m.plan_digest = planned_.plan_digest;
  m.kernels_digest = kernel_digest(*planned_.program);
  m.threads = planned_.threads;
  m.device = device_;
  m.state[kBestLoss] = print_double(run_.early_stop().best_loss);
  m.state[kRounds] = std::to_string(run_.early_stop().rounds_without_better);
  m.state[kEvaluated] = std::to_string(run_.early_stop().evaluated_step);
  return m;
}

bool RunCheckpoints::resume() {
  if (!enabled()) throw Error(ErrorCode::config, "--resume needs checkpoint.dir");
  const auto saved = checkpoint::find_newest(options_.dir);
  if (saved == nullptr) return false;
  std::vector<checkpoint::TensorTarget> targets;
  for (const auto& p : run_.trainer().persistent()) targets.push_back({p.tensor->name, p.tensor->type, p.bytes});
  saved->load(targets);
  for (const std::string& line : checkpoint::differences(saved->manifest(), manifest()))
    log(LogLevel::warning, "resume_differs", {{"what", line}});
  run_.trainer().set_steps_done(saved->manifest().step);
  run_.set_position(saved->manifest().sampler);
  run_.set_early_stop(early_stop_state(saved->manifest(), saved->folder()));
  saved_step_ = saved->manifest().step;
  log(LogLevel::info, "resumed", {{"from", saved->folder()}, {"step", saved_step_}});
  return true;
}

void RunCheckpoints::save_if_due() {
  if (!enabled()) return;
  if (saved_step_ < 0 || run_.trainer().steps_done() % options_.every == 0) save_now();
}

void RunCheckpoints::save_now() {
  if (!enabled() || saved_step_ == run_.trainer().steps_done()) return;
  std::vector<checkpoint::TensorView> tensors;
  for (const auto& p : run_.trainer().persistent()) tensors.push_back({p.tensor->name, p.tensor->type, p.bytes});
  const std::string folder = checkpoint::save(options_.dir, manifest(), tensors, {.keep = options_.keep});
  saved_step_ = run_.trainer().steps_done();
  log(LogLevel::debug, "checkpoint_saved", {{"folder", folder}, {"step", saved_step_}});
}

}  // namespace tidemark::train
