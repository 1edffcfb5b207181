#include "framework/train/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "framework/runtime/memory_debugger.h"

namespace tidemark::train {
namespace {

// The first step touches what is touched once: library set-up, pages of host buffers.
constexpr int64_t kWarmupSteps = 1;

// Room for the figures of so many steps is made before the loop; later ones make it as they come.
constexpr int64_t kReservedSteps = 1 << 20;

// The first element that is no number, or -1.
int64_t find_nan(const float* data, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(data[i])) return i;
  return -1;
}

class Work {
 public:
  explicit Work(const std::function<void(bool)>& works) : works_(works) {
    if (works_) works_(true);
  }
  ~Work() {
    if (works_) works_(false);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  const std::function<void(bool)>& works_;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TrainingRun::TrainingRun(const PlannedRun& planned, DeviceMemory& device, bool growth, bool debug,
                         const Decorate& decorate, memory::AllocatorOptions allocator_options)
    : planned_(planned), device_(device), arena_(device, planned.arena_bytes, {.growth = growth}) {
  // The debugger fills the whole arena before a body runs.
  arena_.ensure(growth && !debug ? planned.program->run_segment_bytes : planned.arena_bytes);
  if (debug) debugger_ = std::make_unique<runtime::MemoryDebugger>(arena_.data(), planned.arena_bytes);
  executor_ = std::make_unique<runtime::Executor>(*planned.program, arena_.data(), debugger_.get());
  if (planned.batch.packed()) make_packed_bodies(decorate, std::move(allocator_options));
  trainer_ = std::make_unique<Trainer>(*executor_, planned.dataset->info(), *planned.optimizer, planned.schedule,
                                       planned.batch, packed_.get());
  if (!growth && packed_ != nullptr) ensure_bodies(false);
}

void TrainingRun::make_packed_bodies(const Decorate& decorate, memory::AllocatorOptions allocator_options) {
  // The bound is a promise: what would go beyond it is refused, and then runs in one block (Trainer::step).
  device_.set_limit_bytes(std::min(device_.limit_bytes(), planned_.planned_peak_bytes));
  pool_ = std::make_unique<memory::PagePool>(device_);
  allocator_ = std::make_unique<memory::CachingAllocator>(*pool_, std::move(allocator_options));
  if (decorate) decorated_ = decorate(*allocator_);
  memory::Allocator& allocator = decorated_ ? *decorated_ : *allocator_;
  dynamic_ = std::make_unique<runtime::DynamicExecutor>(*planned_.ops, planned_.dynamic, allocator);
  packed_ = std::make_unique<PackedBodies>(*planned_.model, planned_.dataset->info(), planned_.batch,
                                           planned_.ops->table(), *executor_, *dynamic_);
}

TrainingRun::~TrainingRun() = default;

void TrainingRun::refuse_not_a_number(const char* what, double loss) const {
  std::string text = fmt::format("{} {} is {}", what, trainer_->steps_done(), std::abs(loss));
  for (const auto& p : trainer_->persistent()) {
    if (p.tensor->type.dtype != DType::f32) continue;
    const int64_t at = find_nan(reinterpret_cast<const float*>(p.bytes.data()), p.tensor->type.shape.elements());
    if (at < 0) continue;
    text += fmt::format("; first bad tensor is '{}' at element {}", p.tensor->name, at);
    break;
  }
  throw Diverged(text + "; lower train.lr, set train.clip_norm, or look at the data");
}

void TrainingRun::one_step(data::Loader& loader, const RunOptions& options, RunReport& report) {
  const data::HostBatch& batch = loader.next();
  const auto begin = std::chrono::steady_clock::now();
  const StepResult result = [&] {
    const Work work(options.works);
    return trainer_->step(batch);
  }();
  const double seconds = seconds_since(begin);
  position_ = batch.end;
  if (!std::isfinite(result.loss)) refuse_not_a_number("loss of step", result.loss);
  report.losses.push_back(result.loss);
  report.step_seconds.push_back(seconds);
  report.samples += batch.samples;
  report.targets += batch.targets;
  if (options.after_step) options.after_step(result, seconds, batch);
  if (options.progress == nullptr) return;
  const auto begin_of_epoch = static_cast<double>(batch.end.offset) / static_cast<double>(planned_.batch.train_samples);
  options.progress->step(
      {.step = trainer_->steps_done(),
       .total_steps = planned_.total_steps,
       .epoch = static_cast<double>(batch.end.epoch) + begin_of_epoch,
       .loss = result.loss,
       .accuracy = result.correct,
       .samples_per_second = static_cast<double>(batch.samples) / seconds,
       .tokens_per_second = planned_.targets_per_sample > 1 ? static_cast<double>(batch.targets) / seconds : 0,
       .learning_rate = planned_.schedule.at(trainer_->steps_done() - 1),
       .memory_bytes = device_.committed_bytes(),
       .budget_bytes = planned_.budget_bytes});
}

bool TrainingRun::evaluation_is_due(int64_t every) const {
  if (planned_.batch.eval_samples == 0) return false;
  const int64_t done = trainer_->steps_done();
  return done == planned_.total_steps || done % (every > 0 ? every : planned_.steps_per_epoch) == 0;
}

void TrainingRun::ensure_bodies(bool evaluation) {
  if (allocator_ != nullptr) {
    // The bound on all shapes, taken once: the allocator keeps the pages, and no later batch asks the device for any.
    arena_.ensure(planned_.arena_bytes);
    if (allocator_->stats().reserved_bytes >= planned_.block_bytes) return;
    const auto touch = [&](int64_t bytes) {
      const memory::Block block(*allocator_, {.bytes = bytes, .category = Category::activations});
    };
    touch(planned_.block_bytes);
    touch(1);  // small blocks have addresses of their own
    return;
  }
  int64_t bytes = 0;
  for (const compile::Body& body : planned_.program->bodies)
    if (body.name.starts_with("evaluate") == evaluation) bytes = std::max(bytes, body.peak_bytes);
  arena_.ensure(bytes);
}

bool TrainingRun::evaluate(const RunOptions& options, RunReport& report) {
  const Work work(options.works);
  ensure_bodies(true);
  data::Loader loader(*planned_.dataset, {.global_batch = planned_.batch.eval_batch,
                                          .seed = planned_.batch.seed,
                                          .shuffle = false,
                                          .split = data::Split::eval});
  report.eval = trainer_->evaluate(loader, planned_.batch.eval_samples);
  if (!std::isfinite(report.eval->loss)) refuse_not_a_number("loss of the evaluation after step", report.eval->loss);
  if (options.progress != nullptr) {
    std::string text = fmt::format("evaluation after step {}: loss {:.4f}", trainer_->steps_done(), report.eval->loss);
    if (report.eval->accuracy) text += fmt::format(" accuracy {:.2f}%", 100 * *report.eval->accuracy);
    options.progress->note(text + fmt::format(" over {} samples", report.eval->samples));
  }
  early_stop_.rounds_without_better =
      report.eval->loss < early_stop_.best_loss ? 0 : early_stop_.rounds_without_better + 1;
  early_stop_.best_loss = std::min(early_stop_.best_loss, report.eval->loss);
  early_stop_.evaluated_step = trainer_->steps_done();
  return !is_stopped_early(options, report);
}

bool TrainingRun::is_stopped_early(const RunOptions& options, RunReport& report) const {
  report.stopped_early = options.early_stop > 0 && early_stop_.rounds_without_better >= options.early_stop;
  return report.stopped_early;
}

bool TrainingRun::catch_up(const RunOptions& options, RunReport& report) {
  const int64_t done = trainer_->steps_done();
  const bool missed = done > 0 && early_stop_.evaluated_step != done && evaluation_is_due(options.eval_every);
  return missed ? evaluate(options, report) : !is_stopped_early(options, report);
}

RunReport TrainingRun::run(const RunOptions& options) {
  RunReport report;
  report.first_step = trainer_->steps_done();
  const auto to_do =
      static_cast<size_t>(std::clamp<int64_t>(planned_.total_steps - report.first_step, 0, kReservedSteps));
  report.losses.reserve(to_do);  // nothing is allocated in the loop
  report.step_seconds.reserve(to_do);
  data::Loader loader(*planned_.dataset,
                      {.global_batch = planned_.batch.global_batch,
                       .micro_batch = planned_.batch.micro_batch,
                       .seed = planned_.batch.seed},
                      position_);
  ensure_bodies(false);
  // Of packed data all is there now; memory.idle_release may give some back until the end.
  if (allocator_ != nullptr) report.measured_peak_bytes = device_.measured_bytes();
  int64_t calls_at_warmup = device_.alloc_calls();
  const auto asked_to_stop = [&] { return options.stop != nullptr && options.stop->load(std::memory_order_relaxed); };
  const bool goes_on = catch_up(options, report);
  while (goes_on && trainer_->steps_done() < planned_.total_steps && !asked_to_stop()) {
    one_step(loader, options, report);
    if (trainer_->steps_done() - report.first_step == kWarmupSteps) calls_at_warmup = device_.alloc_calls();
    if (evaluation_is_due(options.eval_every) && !asked_to_stop() && !evaluate(options, report)) break;
    if (options.at_step_boundary) options.at_step_boundary();
  }
  report.interrupted = asked_to_stop() && trainer_->steps_done() < planned_.total_steps;
  report.steps = trainer_->steps_done();
  report.alloc_calls_after_warmup = device_.alloc_calls() - calls_at_warmup;
  if (dynamic_ != nullptr) report.replans = dynamic_->counts().plans;
  report.measured_peak_bytes = std::max(report.measured_peak_bytes, device_.measured_bytes());
  return report;
}

}  // namespace tidemark::train
