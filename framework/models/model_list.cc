// The explicit list of model kinds.
#include "framework/models/gpt.h"
#include "framework/models/lstm.h"
#include "framework/models/mlp.h"
#include "framework/models/model.h"
#include "framework/models/resnet.h"

namespace tidemark::models {

std::vector<std::unique_ptr<Model>> all_models() {
  std::vector<std::unique_ptr<Model>> models;
  models.push_back(std::make_unique<Gpt>());
  models.push_back(std::make_unique<Lstm>());
  models.push_back(std::make_unique<Mlp>());
  models.push_back(std::make_unique<ResNet>());
  return models;
}

}  // namespace tidemark::models
