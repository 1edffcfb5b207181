#include <map>

#include "base/error.h"
#include "graph/builder.h"
#include "graph/text.h"
#include "graph/text_reader.h"

namespace tidemark {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kValueWanted = "a value such as %x";

// A value on the left of a node, with what the text says beyond the op's own rule.
struct OutputText {
  Token ident;
  std::optional<Token> name;
  std::optional<Category> category;
  std::optional<Scope> scope;
};

class Parser {
 public:
  Parser(std::string_view text, const OpTable& ops) : reader_(text), graph_(parse_header()), builder_(graph_, ops) {}

  Graph parse() {
    while (!reader_.accept_symbol("}")) parse_statement();
    if (!reader_.is(Kind::end)) throw reader_.unexpected("nothing after the graph");
    return std::move(graph_);
  }

 private:
  std::string parse_header() {
    if (!reader_.accept_word("graph")) throw reader_.unexpected("'graph'");
    std::string name = reader_.expect(Kind::string, "the name of the graph in quotes").text;
    reader_.expect_symbol("{");
    return name;
  }

  void parse_statement() {
    if (reader_.accept_word("external")) return parse_external();
    if (reader_.accept_word("result")) return graph_.add_result(parse_reference());
    if (reader_.is(Kind::word) || reader_.is(Kind::value)) return parse_node();
    throw reader_.unexpected("'external', 'result', a node or '}'");
  }

  void parse_external() {
    const Token ident = reader_.expect(Kind::value, kValueWanted);
    reader_.expect_symbol(":");
    const ValueType type = reader_.type();
    const Category category = reader_.named(category_from_string, "a category");
    const Scope scope = reader_.named(scope_from_string, "a scope (run, step or micro_batch)");
    const Token name = reader_.is(Kind::string) ? reader_.next() : ident;
    check_name(name);
    define(ident, located(name, [&] { return builder_.external(name.text, type, category, scope); }));
  }

  void parse_node() {
    std::vector<OutputText> outputs;
    if (reader_.is(Kind::value)) {
      do outputs.push_back(parse_output());
      while (reader_.accept_symbol(","));
      reader_.expect_symbol("=");
    }
    const Token op = reader_.expect(Kind::word, "an op");
    std::vector<ValueId> inputs = parse_inputs();
    Attributes attributes = reader_.is_symbol("{") ? reader_.attributes() : Attributes();
    const std::string name = parse_node_name(op);
    const std::vector<ValueId> ids =
        located(op, [&] { return builder_.node(op.text, name, std::move(inputs), std::move(attributes)); });
    if (ids.size() != outputs.size()) {
      throw error_at(op, "op '" + op.text + "' has " + std::to_string(ids.size()) + " outputs, not " +
                             std::to_string(outputs.size()));
    }
    name_outputs(outputs, ids, name);
  }

  OutputText parse_output() {
    OutputText output{.ident = reader_.expect(Kind::value, kValueWanted), .name = {}, .category = {}, .scope = {}};
    if (reader_.is(Kind::string)) output.name = reader_.next();
    for (; reader_.is(Kind::word); reader_.next()) {
      const auto category = category_from_string(reader_.peek().text);
      const auto scope = scope_from_string(reader_.peek().text);
      if (!category && !scope) throw reader_.unexpected("a category, a scope or '='");
      if (category) output.category = category;
      if (scope) output.scope = scope;
    }
    return output;
  }

  std::vector<ValueId> parse_inputs() {
    std::vector<ValueId> inputs;
    reader_.expect_symbol("(");
    if (reader_.accept_symbol(")")) return inputs;
    do inputs.push_back(reader_.accept_word("_") ? ValueId() : parse_reference());
    while (reader_.accept_symbol(","));
    reader_.expect_symbol(")");
    return inputs;
  }

  // Given names must be free; a node without one is called after its op.
  std::string parse_node_name(const Token& op) {
    if (!reader_.is(Kind::string)) return graph_.unused_node_name(op.text);
    const Token name = reader_.next();
    check_name(name);
    if (graph_.unused_node_name(name.text) != name.text) {
      throw error_at(name, "a node named " + describe(name) + " exists already");
    }
    return name.text;
  }

  void name_outputs(const std::vector<OutputText>& outputs, const std::vector<ValueId>& ids, const std::string& node) {
    for (size_t i = 0; i < ids.size(); ++i) {  // first out of the way: names may swap
      if (outputs[i].name) graph_.rename_value(ids[i], graph_.unused_value_name(node + "/unnamed"));
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      const OutputText& output = outputs[i];
      if (output.name) rename(ids[i], *output.name, node);
      if (output.category) graph_.mutable_value(ids[i]).category = *output.category;
      if (output.scope) graph_.mutable_value(ids[i]).scope = *output.scope;
      define(output.ident, ids[i]);
    }
  }

  // A name that begins with a slash continues the node's.
  void rename(ValueId id, Token name, const std::string& node) {
    if (name.text.rfind('/', 0) == 0) name.text = node + name.text;
    check_name(name);
    if (graph_.find_value(name.text).valid())
      throw error_at(name, "a value named " + describe(name) + " exists already");
    graph_.rename_value(id, name.text);
  }

  ValueId parse_reference() {
    const Token ident = reader_.expect(Kind::value, kValueWanted);
    const auto found = values_.find(ident.text);
    if (found == values_.end()) throw error_at(ident, describe(ident) + " is not defined above");
    return found->second;
  }

  void define(const Token& ident, ValueId id) {
    if (!values_.emplace(ident.text, id).second) throw error_at(ident, describe(ident) + " is defined twice");
  }

  void check_name(const Token& name) const {
    if (name.text.empty() || name.text.front() == '/') throw error_at(name, "a name is not empty nor begins with '/'");
  }

  // What graph and ops refuse, with the position in the text.
  template <class Call>
  auto located(const Token& token, Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const Error& error) {
      throw error_at(token, error.what());
    }
  }

  TextReader reader_;
  Graph graph_;
  Builder builder_;
  std::map<std::string, ValueId> values_;  // by identifier
};

}  // namespace

Graph parse_graph(std::string_view text, const OpTable& ops) { return Parser(text, ops).parse(); }

}  // namespace tidemark
