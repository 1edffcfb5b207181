// A YAML document as a tree in which every key and value knows its position, and no duplicate key is lost in silence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/config/position.h"
#include "framework/config/problems.h"

namespace tidemark::config {

struct YamlEntry;

struct YamlNode {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  Position at;
  std::string scalar;
  bool quoted = false;  // a quoted scalar is text, whatever it looks like
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;  // in file order, keys distinct

  YamlEntry* find(std::string_view key);
  const YamlEntry* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Position key_at;
  YamlNode value;
};

// What a node is, for messages: "the text 'abc'", "a list", "a mapping", "empty".
std::string describe(const YamlNode& node);

// Parses one document. Syntax errors, duplicate keys, aliases and further documents go to `problems`; what could be
// read is returned. After a syntax error the tree is empty, as it would be cut short anywhere.
YamlNode parse_yaml(std::string_view text, Problems& problems, bool& syntax_ok);

// Sets the value at a dotted path ("train.lr=1e-3"), with sections made as needed; positions are those of the command
// line. The value is YAML: a scalar or [a, list]; nothing after the = is the empty text.
void apply_override(std::string_view assignment, YamlNode& root, Problems& problems);

}  // namespace tidemark::config
