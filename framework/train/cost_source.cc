#include "framework/train/cost_source.h"

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace tidemark::train {
namespace {

std::string cost_file_path(const std::string& setting) {
  if (!setting.empty()) return setting;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::string(cache) + "/tidemark/costs.json";
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.cache/tidemark/costs.json";
}

void say_waiting(pid_t writer, const std::string& file) {
  if (writer > 0) {
    log(LogLevel::info, "waits_for_costs", {{"measured_by_process", writer}, {"file", file}});
  } else {
    log(LogLevel::info, "waits_for_costs", {{"file", file}});
  }
}

class Measured : public CostSource {
 public:
  Measured(const std::string& setting, int threads, MeasureOptions options)
      : costs_(cost_file_path(setting), threads), again_(options.again) {
    if (again_) costs_.measure_again();
    costs_.on_measuring(std::move(options.on_measuring));
    costs_.stop_if(std::move(options.stop_if));
    costs_.on_waiting([file = costs_.file()](pid_t writer) { say_waiting(writer, file); });
    if (!setting.empty()) return;
    costs_.on_not_kept([](const Error& why) { log(LogLevel::warning, "costs_not_kept", {{"why", why.what()}}); });
  }

  compile::Costs& costs() override { return costs_; }
  void keep() override { costs_.save(); }

  CostNote note() const override {
    return {.measured = costs_.measured(),
            .file = costs_.file(),
            .digest = costs_.digest(),
            .change = again_ ? std::optional(costs_.change()) : std::nullopt};
  }

 private:
  compile::MeasuredCosts costs_;
  const bool again_;
};

class Estimated : public CostSource {
 public:
  Estimated(const OpTable& ops, int threads) : costs_(ops, threads) {}
  compile::Costs& costs() override { return costs_; }
  void keep() override {}
  CostNote note() const override { return {.estimated = true}; }

 private:
  compile::EstimatedCosts costs_;
};

}  // namespace

std::unique_ptr<CostSource> measured_costs(const std::string& setting, int threads, MeasureOptions options) {
  return std::make_unique<Measured>(setting, threads, std::move(options));
}

std::unique_ptr<CostSource> estimated_costs(const OpTable& ops, int threads) {
  return std::make_unique<Estimated>(ops, threads);
}

}  // namespace tidemark::train
