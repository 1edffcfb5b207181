#include "framework/runtime/dynamic_executor.h"

#include <algorithm>
#include <list>
#include <unordered_map>

#include "base/error.h"
#include "framework/compile/unplaced_body.h"
#include "framework/runtime/dynamic_body.h"
#include "memory/allocator/allocator.h"

// Note [Dynamic bodies]
// Planning pays only for a shape that comes again, and nobody knows which ones will. So a new shape runs at once, each
// buffer in a block of its own for as long as it lives: nothing but live bytes is held, at the price of a request a
// buffer and of the allocator's rounding. A shape that came twice gets a plan, and then one block for each run. That
// block is not kept: between steps nothing is allocated, so the step floor tells a leak from a shape that is wide,
// other users of the allocator can have the pages in between, and shapes of all sizes share the pages of the widest. A
// caching allocator gives the same addresses again nearly always, and then nothing is bound anew either.
//
// Refusals: a body that updates values of the whole run in place would be half-way if a request after the first such
// update were refused. It is planned at once, since a planned body asks once, before its first instruction.
namespace tidemark::runtime {

memory::OffsetPlan plan_block(const compile::UnplacedBody& body, const DynamicOptions& options) {
  const auto planner = memory::make_offset_planner(options.compile.planner);
  memory::OffsetPlannerOptions quick = options.compile.planner_options;
  quick.work_limit = std::min(quick.work_limit, options.planning_work_limit);
  memory::OffsetPlan plan = planner->minimize(body.trace, quick);
  if (plan.peak_bytes <= options.room_bytes || plan.lower_bound_bytes > options.room_bytes) return plan;
  memory::FitResult within = planner->fit(body.trace, options.room_bytes, options.compile.planner_options);
  return within.fit == memory::Fit::fits ? std::move(within.plan) : std::move(plan);
}

// The one that ran last stands first; the last one goes when there is no room.
class DynamicExecutor::Cache {
 public:
  explicit Cache(size_t capacity) : capacity_(std::max<size_t>(capacity, 1)) {}

  // nullptr if there is none.
  DynamicBody* find(std::string_view key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &*found->second;
  }

  void touch(const DynamicBody& body) {
    bodies_.splice(bodies_.begin(), bodies_, by_key_.find(std::string_view(body.key()))->second);
  }

  // Gives the number of bodies that had to go.
  int64_t make_room() {
    int64_t gone = 0;
    for (; bodies_.size() >= capacity_; ++gone) {
      by_key_.erase(bodies_.back().key());
      bodies_.pop_back();
    }
    return gone;
  }

  DynamicBody& add(std::string key, compile::UnplacedBody body, const BodyBindings& bindings) {
    bodies_.emplace_front(std::move(key), std::move(body), bindings);
    by_key_.emplace(bodies_.front().key(), bodies_.begin());
    return bodies_.front();
  }

  size_t size() const { return bodies_.size(); }

 private:
  const size_t capacity_;
  std::list<DynamicBody> bodies_;
  std::unordered_map<std::string_view, std::list<DynamicBody>::iterator> by_key_;  // the bodies' own keys
};

// While it lives, execution stands in a body; at its end, however it ends, in none.
class DynamicExecutor::Running {
 public:
  Running(DynamicExecutor& executor, const DynamicBody& body) : executor_(executor), serial_(++executor.serial_) {
    {
      const std::lock_guard lock(executor_.live_mutex_);
      executor_.live_ = body.live();
    }
    at(0);
  }
  ~Running() { executor_.position_.store(0, std::memory_order_release); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void at(size_t instruction) { executor_.position_.store(serial_ << 32 | instruction, std::memory_order_release); }

 private:
  DynamicExecutor& executor_;
  const uint64_t serial_;
};

DynamicExecutor::DynamicExecutor(const ops::OpSet& ops, DynamicOptions options, memory::Allocator& allocator)
    : ops_(ops),
      options_(std::move(options)),
      allocator_(allocator),
      cache_(std::make_unique<Cache>(options_.cached_bodies)) {
  TM_CHECK(options_.compile.alignment <= memory::kAllocationAlignment, "blocks are aligned to less");
}

DynamicExecutor::~DynamicExecutor() = default;

DynamicBody& DynamicExecutor::compile_new(std::string_view key, const std::function<compile::BodySpec()>& make_body,
                                          const BodyBindings& bindings) {
  std::vector<std::string> names;
  for (const BodyBindings::Placed& placed : bindings.placed) names.push_back(placed.name);
  compile::UnplacedBody body = compile::compile_unplaced(make_body(), names, ops_, options_.compile);
  forgotten_.fetch_add(cache_->make_room(), std::memory_order_relaxed);
  return cache_->add(std::string(key), std::move(body), bindings);
}

bool DynamicExecutor::may_run_unplanned(const compile::UnplacedBody& body) const {
  return !plans_at_once_ && !body.updates_run_values &&
         body.blocks_peak_bytes(options_.page_bytes) <= options_.room_bytes;
}

void DynamicExecutor::run(std::string_view key, const std::function<compile::BodySpec()>& make_body,
                          const BodyBindings& bindings) {
  DynamicBody* body = cache_->find(key);
  const bool is_new = body == nullptr;
  if (is_new) body = &compile_new(key, make_body, bindings);
  cache_->touch(*body);
  const bool unplanned = is_new && may_run_unplanned(body->body());
  if (!unplanned && !body->is_planned()) {
    body->set_plan(plan_block(body->body(), options_));
    plans_.fetch_add(1, std::memory_order_relaxed);
  }
  Running running(*this, *body);
  const auto at = [&](size_t instruction) { running.at(instruction); };
  if (unplanned) {
    body->run_unplanned(allocator_, bindings, at);
  } else {
    body->run_planned(allocator_, bindings, at);
  }
  (unplanned ? unplanned_runs_ : planned_runs_).fetch_add(1, std::memory_order_relaxed);
}

bool DynamicExecutor::knows(std::string_view key) const { return cache_->find(key) != nullptr; }

bool DynamicExecutor::is_planned(std::string_view key) const {
  const DynamicBody* body = cache_->find(key);
  return body != nullptr && body->is_planned();
}

size_t DynamicExecutor::size() const { return cache_->size(); }

DynamicCounts DynamicExecutor::counts() const {
  return {unplanned_runs_.load(std::memory_order_relaxed), planned_runs_.load(std::memory_order_relaxed),
          plans_.load(std::memory_order_relaxed), forgotten_.load(std::memory_order_relaxed)};
}

CategoryBytes DynamicExecutor::live_bytes() const {
  for (;;) {
    const uint64_t before = position_.load(std::memory_order_acquire);
    if (before == 0) return {};
    const std::shared_ptr<const LiveTable> live = [&] {
      const std::lock_guard lock(live_mutex_);
      return live_;
    }();
    // The table is that of the position if the same body ran before and after it was read.
    if (const uint64_t after = position_.load(std::memory_order_acquire); after >> 32 == before >> 32)
      return (*live)[std::min<size_t>(after & 0xffffffffU, live->size() - 1)];
  }
}

}  // namespace tidemark::runtime
