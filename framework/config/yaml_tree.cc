#include "framework/config/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "base/error.h"

namespace tidemark::config {
namespace {

Position position(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// yaml-cpp's own node tree keeps one of two equal keys and tells nobody, hence a tree of our own from its events.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Problems& problems) : problems_(problems) {}
  YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    leaf({.kind = YamlNode::Kind::null, .at = position(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problems_.add(position(mark), "aliases are not supported; write the value out");
    leaf({.kind = YamlNode::Kind::null, .at = position(mark)});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    const bool plain = tag == "?";
    const bool null = plain && (value == "null" || value == "~");
    leaf({.kind = null ? YamlNode::Kind::null : YamlNode::Kind::scalar,
          .at = position(mark),
          .scalar = value,
          .quoted = !plain});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open({.kind = YamlNode::Kind::sequence, .at = position(mark)});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open({.kind = YamlNode::Kind::map, .at = position(mark)});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    bool is_key = false;   // a list or mapping in the place of a key: refused and dropped
    bool has_key = false;  // a mapping whose next node is the value of `key`
    bool key_refused = false;
    std::string key;
    Position key_at;
  };

  bool at_key() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::map && !open_.back().has_key;
  }

  void set_key(std::string key, Position at, bool refused) {
    Open& map = open_.back();
    map.has_key = true;
    map.key = std::move(key);
    map.key_at = at;
    map.key_refused = refused;
  }

  void leaf(YamlNode node) {
    if (at_key()) {
      set_key(node.scalar, node.at, false);
    } else {
      put(std::move(node));
    }
  }

  void open(YamlNode node) {
    const bool is_key = at_key();
    if (is_key) {
      problems_.add(node.at, "a key must be plain text, is " + describe(node));
      set_key("", node.at, true);
    }
    open_.push_back({.node = std::move(node), .is_key = is_key});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    if (!closed.is_key) put(std::move(closed.node));
  }

  void put(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::sequence) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    parent.has_key = false;
    if (parent.key_refused) return;
    if (const YamlEntry* first = parent.node.find(parent.key)) {
      problems_.add(parent.key_at,
                    "key '" + path() + "' is given twice; first in line " + std::to_string(first->key_at.line));
      return;
    }
    parent.node.entries.push_back({parent.key, parent.key_at, std::move(node)});
  }

  // Dotted path of the key in hand. Open mappings but the innermost wait for the value of their key.
  std::string path() const {
    std::string path;
    for (const Open& open : open_) {
      if (open.node.kind == YamlNode::Kind::map) path += (path.empty() ? "" : ".") + open.key;
    }
    return path;
  }

  Problems& problems_;
  YamlNode root_;
  std::vector<Open> open_;
};

void place_on_command_line(YamlNode& node) {
  node.at = Position::command_line();
  for (YamlNode& item : node.items) place_on_command_line(item);
  for (YamlEntry& entry : node.entries) {
    entry.key_at = Position::command_line();
    place_on_command_line(entry.value);
  }
}

}  // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

YamlEntry* YamlNode::find(std::string_view key) {
  return const_cast<YamlEntry*>(static_cast<const YamlNode*>(this)->find(key));
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "empty";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::map:
      return "a mapping";
    case YamlNode::Kind::scalar:
      return node.quoted ? "the text '" + node.scalar + "'" : "'" + node.scalar + "'";
  }
  TM_CHECK(false, "unknown kind of node");
}

YamlNode parse_yaml(std::string_view text, Problems& problems, bool& syntax_ok) {
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(problems);
  syntax_ok = true;
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    YamlNode root = builder.take_root();
    TreeBuilder rest(problems);
    if (parser.HandleNextDocument(rest)) {
      problems.add(rest.take_root().at, "a second YAML document; a configuration is one document");
    }
    return root;
  } catch (const YAML::Exception& e) {
    syntax_ok = false;
    const Position at = e.mark.is_null() ? Position{} : position(e.mark);
    problems.add(at, "YAML syntax: " + e.msg);
    return {};
  }
}

void apply_override(std::string_view assignment, YamlNode& root, Problems& problems) {
  const size_t equals = assignment.find('=');
  const std::string_view path = assignment.substr(0, equals);
  if (equals == std::string_view::npos || path.empty() || path.front() == '.' || path.back() == '.') {
    problems.add(Position::command_line(), "'" + std::string(assignment) + "' is not of the form key=value");
    return;
  }
  Problems inner("value");
  bool syntax_ok = true;
  YamlNode value = parse_yaml(assignment.substr(equals + 1), inner, syntax_ok);
  if (equals + 1 == assignment.size()) value = {.kind = YamlNode::Kind::scalar, .quoted = true};
  if (!inner.empty()) {
    problems.add(Position::command_line(), "value of '" + std::string(path) + "': " + inner.lines().front());
    return;
  }
  place_on_command_line(value);

  YamlNode* node = &root;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (node->kind != YamlNode::Kind::map) *node = {.kind = YamlNode::Kind::map, .at = Position::command_line()};
    const std::string key(path.substr(begin, end - begin));
    YamlEntry* entry = node->find(key);
    if (entry == nullptr) {
      node->entries.push_back({key, Position::command_line(), {.at = Position::command_line()}});
      entry = &node->entries.back();
    }
    if (end == path.size()) entry->key_at = Position::command_line();
    node = &entry->value;
    begin = end + 1;
  }
  *node = std::move(value);
}

}  // namespace tidemark::config
