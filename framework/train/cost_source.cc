#include "framework/train/cost_source.h"

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "framework/compile/measured_costs.h"

namespace tidemark::train {
namespace {

std::string cost_file_path(const std::string& setting) {
  if (!setting.empty()) return setting;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::string(cache) + "/tidemark/costs.json";
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.cache/tidemark/costs.json";
}

class Measured : public CostSource {
 public:
  Measured(const std::string& setting, int threads, std::function<void(const compile::Measuring&)> on_measuring)
      : is_cache_(setting.empty()), path_(cost_file_path(setting)), costs_(path_, threads) {
    costs_.on_measuring(std::move(on_measuring));
  }

  compile::Costs& costs() override { return costs_; }

  void keep() const override {
    try {
      costs_.save();
    } catch (const Error& error) {
      if (!is_cache_) throw;
      log(LogLevel::warning, "costs_not_kept", {{"why", error.what()}});
    }
  }

  CostNote note() const override { return {.measured = costs_.measured(), .file = path_, .digest = costs_.digest()}; }

 private:
  const bool is_cache_;
  const std::string path_;
  compile::MeasuredCosts costs_;
};

class Estimated : public CostSource {
 public:
  Estimated(const OpTable& ops, int threads) : costs_(ops, threads) {}
  compile::Costs& costs() override { return costs_; }
  void keep() const override {}
  CostNote note() const override { return {.estimated = true}; }

 private:
  compile::EstimatedCosts costs_;
};

}  // namespace

std::unique_ptr<CostSource> measured_costs(const std::string& setting, int threads,
                                           std::function<void(const compile::Measuring&)> on_measuring) {
  return std::make_unique<Measured>(setting, threads, std::move(on_measuring));
}

std::unique_ptr<CostSource> estimated_costs(const OpTable& ops, int threads) {
  return std::make_unique<Estimated>(ops, threads);
}

}  // namespace tidemark::train
