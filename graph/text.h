// The text form: one line per external value and node; print and parse are inverse. For tests, dumps and digests.
//
//   graph "mlp" {
//     external %x : f32[32,784] input micro_batch "images"
//     %h, %pre = matmul(%x, %w, %b) {activation="gelu", transpose_w=true} "layer1"
//     result %loss
//   }
#pragma once

#include <string>
#include <string_view>

#include "graph/op.h"

namespace tidemark {

std::string print(const Graph& graph);

// Types, categories, suffixes and overwrites of node outputs are inferred through `ops`. Throws Error(data) with line
// and column.
Graph parse_graph(std::string_view text, const OpTable& ops);

}  // namespace tidemark
