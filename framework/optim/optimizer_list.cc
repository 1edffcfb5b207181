#include "base/error.h"
#include "framework/optim/adamw.h"
#include "framework/optim/optimizer.h"
#include "framework/optim/sgd.h"

namespace tidemark::optim {
namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Optimizer> (*make)(const OptimizerOptions&);
};

template <class T>
std::unique_ptr<Optimizer> make(const OptimizerOptions& options) {
  return std::make_unique<T>(options);
}

constexpr Entry kOptimizers[] = {
    {"adamw", make<AdamW>},
    {"sgd", make<Sgd>},
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const OptimizerOptions& options) {
  std::string known;
  for (const Entry& entry : kOptimizers) {
    if (name == entry.name) return entry.make(options);
    known += known.empty() ? entry.name : std::string(", ") + entry.name;
  }
  throw Error(ErrorCode::config, "optimizer '" + std::string(name) + "' is unknown; known are " + known);
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kOptimizers) names.emplace_back(entry.name);
  return names;
}

}  // namespace tidemark::optim
