#include "framework/train/plan_digest.h"

#include "base/sha256.h"

namespace tidemark::train {
namespace {

void append(std::string& text, const std::vector<int64_t>& numbers) {
  for (int64_t n : numbers) text += ' ' + std::to_string(n);
}

// Gradients that start at zero, or in parts that are added up, are not there where one micro-batch is the whole batch;
// zeros and single additions are the same with every kernel.
bool is_exact(std::string_view kernel) {
  const std::string_view name = kernel.substr(kernel.find(':') + 1);
  return name == "add" || name == "add_into" || name == "fill";
}

}  // namespace

std::string plan_digest(const compile::Program& program) {
  std::string text;
  for (const compile::Tensor& t : program.persistent)
    text += t.name + ' ' + to_string(t.type) + ' ' + std::to_string(t.offset) + '\n';
  for (const compile::Body& body : program.bodies) {
    text += "body " + body.name + '\n';
    for (const compile::Instruction& i : body.instructions) {
      text += i.node + ' ' + i.kernel_name;
      for (ValueId v : i.output_values) text += ' ' + to_string(body.graph.value(v).type);
      append(text, i.inputs);
      text += " ->";
      append(text, i.outputs);
      text += ' ' + std::to_string(i.workspace) + '\n';
    }
  }
  return sha256_hex(text);
}

NodeKernels node_kernels(const compile::Program& program) {
  NodeKernels kernels;
  for (const compile::Body& body : program.bodies) {
    if (body.name == "begin") continue;
    const std::string pass = body.name.starts_with("evaluate") ? "evaluate " : "train ";
    for (const auto& [node, kernel] : body.kernels)
      if (!is_exact(kernel)) kernels[pass + node].insert(kernel);
  }
  return kernels;
}

std::string kernel_digest(const compile::Program& program) {
  std::string text;
  for (const auto& [node, kernels] : node_kernels(program)) {
    text += node;
    for (const std::string& kernel : kernels) text += ' ' + kernel;
    text += '\n';
  }
  return sha256_hex(text);
}

}  // namespace tidemark::train
