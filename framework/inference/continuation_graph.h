// The bodies that go on with texts, as graphs: a prompt goes into the cache, then every text grows by a token a run.
#pragma once

#include <map>
#include <string>

#include "framework/models/model.h"

namespace tidemark::inference {

struct ContinuationSize {
  int64_t texts = 1;   // of the new tokens; 1: they are common to all lanes
  int64_t tokens = 1;  // new ones of each text
  int64_t lanes = 1;   // of the cache
  bool logits = true;
};

// Names of external values.
inline constexpr const char* kTokens = "input/tokens";        // i32[texts,tokens]
inline constexpr const char* kPositions = "input/positions";  // i32[texts,tokens]
inline constexpr const char* kLength = "input/length";        // i32[1]
inline constexpr const char* kCache = "cache";                // see KvCache; updated in place

struct ContinuationGraph {
  Graph graph;
  std::map<std::string, models::Initializer> initializers;  // of the parameters
  std::string logits;                                       // name of the result, empty without logits
  ValueType logits_type;
};

// What nothing wanted reads is left out: the end of the last layer where no logits are wanted. Throws Error(config) if
// the model has no cache_shape() or cannot be built.
ContinuationGraph build_continuation_graph(const models::Model& model, const data::DataInfo& data, const OpTable& ops,
                                           const std::string& name, const ContinuationSize& size);

}  // namespace tidemark::inference
