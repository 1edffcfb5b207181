// The text form: one line per external value and node; print and parse are inverse. For tests, dumps and digests.
//
//   graph "mlp" {                                                       # a comment
//     external %x : f32[32,784] input micro_batch "images"
//     %h, %pre = matmul(%x, %w, %b) {activation="gelu", transpose_w=true} "layer1"
//     %d "w/gradient" gradients step = matmul_grad_weight(%x, %dz, _) "layer1/dw"
//     result %loss
//   }
//
// `_` is an absent input. Names in quotes are optional: a value is then called after its identifier (external) or its
// node and the op's suffix, a node after its op. A value's name that begins with a slash continues its node's. A
// category and a scope after an output are those that differ from what the op and the overwritten value say; print()
// leaves out `activations` and `micro_batch` for a fresh value. Attributes: true, 3, 3.0, "text", [1,2]. Strings know
// \", \\ and \xHH.
#pragma once

#include <string>
#include <string_view>

#include "graph/op.h"

namespace tidemark {

// Values are numbered by first appearance; those of removed nodes are left out.
std::string print(const Graph& graph);

// Types, categories, suffixes and overwrites of node outputs are inferred through `ops`. Throws Error(data) with line
// and column. The graph is well formed, but not verified.
Graph parse_graph(std::string_view text, const OpTable& ops);

}  // namespace tidemark
