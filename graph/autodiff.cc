#include "graph/autodiff.h"

#include "graph/backward_pass.h"

namespace tidemark {

Gradients append_backward(Graph& graph, const OpTable& ops, ValueId loss, const AutodiffOptions& options) {
  return BackwardPass(graph, ops, loss, options).run();
}

}  // namespace tidemark
