#include "framework/train/plan_digest.h"

#include "base/sha256.h"

namespace tidemark::train {
namespace {

void append(std::string& text, const std::vector<int64_t>& numbers) {
  for (int64_t n : numbers) text += ' ' + std::to_string(n);
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

std::string kernel_digest(const compile::Program& program) {
  std::string text;
  for (const compile::Body& body : program.bodies)
    for (const auto& [node, kernel] : body.kernels) text += body.name + ' ' + node + ' ' + kernel + '\n';
  return sha256_hex(text);
}

}  // namespace tidemark::train
