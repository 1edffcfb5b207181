#include "framework/cli/text_model.h"

#include <algorithm>
#include <thread>

namespace tidemark::cli {

data::DataInfo text_info(const config::LoadedConfig& loaded) {
  const models::Model& model = *loaded.config.model;
  if (!model.cache_shape())
    loaded.refuse("model.kind", {"model.kind " + std::string(model.kind()) + " does not go on with a text; gpt does"});
  std::optional<data::DataInfo> info = loaded.config.data->known_info(model.context());
  if (!info) info = loaded.config.data->open(model.context())->info();
  loaded.refuse("model", model.problems(*info));
  return *info;
}

int threads_of(const config::Config& config) {
  if (config.train.threads > 0) return static_cast<int>(config.train.threads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace tidemark::cli
