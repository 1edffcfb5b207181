#include "framework/models/model.h"

#include "base/error.h"

namespace tidemark::models {

ValueId ModelBuilder::weight(std::string_view name, Shape shape, Initializer initializer) {
  const ValueId id = parameter(name, {DType::f32, std::move(shape)});
  initializers_[graph().value(id).name] = initializer;
  return id;
}

ValueId ModelBuilder::statistic(std::string_view name, ValueType type, Initializer initializer) {
  const ValueId id = external(name, std::move(type), Category::statistics, Scope::run);
  initializers_[graph().value(id).name] = initializer;
  return id;
}

ContinuationOutputs Model::build_continuation(ModelBuilder&, const ContinuationRequest&) const {
  throw Error(ErrorCode::config, "model.kind " + std::string(kind()) + " does not go on with a text; gpt does");
}

}  // namespace tidemark::models
