#include <charconv>
#include <map>

#include "graph/text.h"
#include "graph/text_lexer.h"

namespace tidemark {
namespace {

std::string print_real(double value) {
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), value).ptr;
  std::string text(buffer, end);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;  // 3.0 is no integer
}

std::string print_value(const Attribute& attribute) {
  if (const auto* flag = std::get_if<bool>(&attribute)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&attribute)) return print_real(*real);
  if (const auto* text = std::get_if<std::string>(&attribute)) return quote(*text);
  return to_string(Shape(std::get<std::vector<int64_t>>(attribute)));  // lists look as shapes do
}

std::string print_attributes(const Attributes& attributes) {
  if (attributes.items().empty()) return "";
  std::string text;
  for (const auto& [name, attribute] : attributes.items()) {
    const bool is_word = !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    text += (text.empty() ? " {" : ", ") + (is_word ? name : quote(name)) + "=" + print_value(attribute);
  }
  return text + "}";
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string print() {
    number_values();
    std::string text = "graph " + quote(graph_.name()) + " {\n";
    for (const Value& value : graph_.values()) {
      if (value.external()) text += "  " + print_external(value) + "\n";
    }
    for (NodeId id : graph_.order()) text += "  " + print_node(graph_.node(id)) + "\n";
    for (ValueId id : graph_.results()) text += "  result " + reference(id) + "\n";
    return text + "}\n";
  }

 private:
  // By first appearance, so that equal graphs print alike whatever was removed from them.
  void number_values() {
    const auto number = [&](ValueId id) { numbers_.emplace(id, numbers_.size()); };
    for (const Value& value : graph_.values()) {
      if (value.external()) number(value.id);
    }
    for (NodeId id : graph_.order()) {
      for (ValueId output : graph_.node(id).outputs) number(output);
    }
  }

  std::string reference(ValueId id) const {
    if (!id.valid()) return "_";
    const auto found = numbers_.find(id);
    return found == numbers_.end() ? "%removed" + std::to_string(id.value) : "%" + std::to_string(found->second);
  }

  std::string print_external(const Value& value) const {
    return "external " + reference(value.id) + " : " + to_string(value.type) + " " +
           std::string(to_string(value.category)) + " " + std::string(to_string(value.scope)) + " " + quote(value.name);
  }

  // Only what a reader would not infer from the node: another name, category or scope.
  std::string print_output(const Node& node, const Value& value, bool is_main) const {
    std::string text = reference(value.id);
    const std::string inner = node.name + "/";
    if (value.name.compare(0, inner.size(), inner) == 0) {
      text += " " + quote(value.name.substr(node.name.size()));
    } else if (!is_main || value.name != node.name) {
      text += " " + quote(value.name);
    }
    const Value* before = value.overwrites.valid() ? &graph_.value(value.overwrites) : nullptr;
    if (value.category != (before ? before->category : Category::activations)) {
      text += " " + std::string(to_string(value.category));
    }
    if (value.scope != (before ? before->scope : Scope::micro_batch)) text += " " + std::string(to_string(value.scope));
    return text;
  }

  std::string print_node(const Node& node) const {
    std::string text;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      text += (i > 0 ? ", " : "") + print_output(node, graph_.value(node.outputs[i]), i == 0);
    }
    text += (node.outputs.empty() ? "" : " = ") + node.op + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) text += (i > 0 ? ", " : "") + reference(node.inputs[i]);
    return text + ")" + print_attributes(node.attributes) + " " + quote(node.name);
  }

  const Graph& graph_;
  std::map<ValueId, size_t> numbers_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).print(); }

}  // namespace tidemark
