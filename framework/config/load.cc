#include "framework/config/load.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "framework/config/clashes.h"
#include "framework/config/field_list.h"
#include "framework/config/nearest.h"

namespace tidemark::config {
namespace {

// What may stand under a section's name, and where keys of another kind would belong.
struct KnownSection {
  std::string name;
  std::vector<std::string> keys;
  std::map<std::string, std::string> kind_of_key;  // keys of kinds that were not chosen
};

std::string section_prefix(const std::string& name) { return name.empty() ? "" : name + "."; }

class ConfigLoader {
 public:
  ConfigLoader(YamlNode root, std::string folder, Lists lists, Problems& problems)
      : root_(std::move(root)), folder_(std::move(folder)), lists_(std::move(lists)), problems_(problems) {
    config_.train = TrainSection(lists_.optimizers);
    config_.memory = MemorySection(lists_.planners, lists_.recompute_planners);
  }

  void run() {
    if (root_.kind == YamlNode::Kind::null) root_.kind = YamlNode::Kind::map;
    if (root_.kind != YamlNode::Kind::map) {
      problems_.add(root_.at, "a configuration must be a mapping of sections, is " + describe(root_));
      return;
    }
    config_.model = read_kind("model", lists_.models);
    config_.data = read_kind("data", lists_.data_kinds);
    for (const auto& [name, section] : fixed_sections(config_)) read_fixed(name, *section);
    report_unknown_keys();
  }

  Config take_config() { return std::move(config_); }
  GivenKeys take_given() { return std::move(given_); }

 private:
  // The mapping of a section; an empty one if it is absent or no mapping (reported).
  const YamlNode& section_node(const std::string& name) {
    static const YamlNode kNothing{.kind = YamlNode::Kind::map};
    if (name.empty()) return root_;
    const YamlEntry* entry = root_.find(name);
    if (entry == nullptr || entry->value.kind == YamlNode::Kind::null) return kNothing;
    given_[name] = {entry->key_at};
    if (entry->value.kind == YamlNode::Kind::map) return entry->value;
    problems_.add(entry->value.at, "section '" + name + "' must be a mapping, is " + describe(entry->value));
    return kNothing;
  }

  void read_fixed(const std::string& name, Section& section) {
    readers_.emplace_back(section_node(name), section_prefix(name), folder_, problems_, given_);
    readers_.back().read(section);
    known_.push_back({name, field_names(section), {}});
  }

  // Takes the kind that `NAME.kind` chooses out of the list and reads its keys; nullptr after a report.
  template <class Kind>
  std::unique_ptr<Kind> read_kind(const std::string& name, std::vector<std::unique_ptr<Kind>>& list) {
    std::vector<std::string> kinds;
    for (const auto& kind : list) kinds.emplace_back(kind->kind());

    const YamlNode& node = section_node(name);
    readers_.emplace_back(node, section_prefix(name), folder_, problems_, given_);
    std::string chosen;
    readers_.back().choice("kind", chosen, "", kinds);
    if (node.find("kind") == nullptr) {
      const auto at = given_.find(name);
      problems_.add(at == given_.end() ? Position{} : at->second.at,
                    "key '" + name + ".kind' is missing; it is one of " + join(kinds));
    }

    KnownSection known{name, {"kind"}, {}};
    std::unique_ptr<Kind> result;
    for (auto& kind : list) {
      const std::vector<std::string> keys = field_names(*kind);
      if (!chosen.empty() && kind->kind() != chosen) {
        for (const std::string& key : keys) known.kind_of_key.emplace(key, kind->kind());
        continue;
      }
      known.keys.insert(known.keys.end(), keys.begin(), keys.end());
      if (kind->kind() == chosen) {
        readers_.back().read(*kind);
        result = std::move(kind);
      } else {  // no kind is known: keys of any may stand there, unread
        for (const std::string& key : keys) readers_.back().allow(key);
      }
    }
    known_.push_back(std::move(known));
    return result;
  }

  void report_unknown_keys() {
    std::vector<std::string> sections;
    for (const KnownSection& known : known_) {
      if (!known.name.empty()) sections.push_back(known.name);
    }
    for (const std::string& name : sections) readers_.back().allow(name);  // the last reader is the top's
    known_.back().keys.insert(known_.back().keys.end(), sections.begin(), sections.end());
    for (size_t i = 0; i < readers_.size(); ++i) {
      readers_[i].report_unknown([&](const std::string& full_key) { return suggestion(known_[i], full_key); });
    }
  }

  // A key of the same name elsewhere, else the nearest in its own section, else the nearest elsewhere.
  std::string suggestion(const KnownSection& own, const std::string& full_key) const {
    const std::string leaf = full_key.substr(section_prefix(own.name).size());
    if (const auto kind = own.kind_of_key.find(leaf); kind != own.kind_of_key.end()) {
      return "it is a key of " + own.name + " kind '" + kind->second + "'";
    }
    std::string near;
    for (const KnownSection& known : known_) {
      const bool same_name = std::find(known.keys.begin(), known.keys.end(), leaf) != known.keys.end();
      if (same_name && near.empty()) near = section_prefix(known.name) + leaf;
    }
    if (near.empty()) {
      const std::string in_section = nearest(leaf, own.keys);
      if (!in_section.empty()) near = section_prefix(own.name) + in_section;
    }
    for (const KnownSection& known : known_) {
      const std::string there = near.empty() ? nearest(leaf, known.keys) : "";
      if (!there.empty()) near = section_prefix(known.name) + there;
    }
    return near.empty() ? "" : "nearest is '" + near + "'";
  }

  YamlNode root_;
  std::string folder_;
  Lists lists_;
  Problems& problems_;
  Config config_;
  GivenKeys given_;
  std::vector<SectionReader> readers_;  // parallel to known_
  std::vector<KnownSection> known_;
};

}  // namespace

LoadedConfig parse_config(std::string_view text, const std::string& name, const std::string& folder,
                          const std::vector<std::string>& overrides, Lists lists) {
  Problems problems(name);
  bool syntax_ok = true;
  YamlNode root = parse_yaml(text, problems, syntax_ok);
  if (!syntax_ok) problems.throw_if_any();
  for (const std::string& assignment : overrides) apply_override(assignment, root, problems);

  ConfigLoader loader(std::move(root), folder, std::move(lists), problems);
  loader.run();
  LoadedConfig loaded{loader.take_config(), name, loader.take_given()};
  resolve_defaults(loaded.config);
  find_clashes(loaded.config, loaded.given, problems);
  problems.throw_if_any();
  return loaded;
}

LoadedConfig load_config(const std::string& path, const std::vector<std::string>& overrides, Lists lists) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const Error& e) {
    throw Error(ErrorCode::config, std::string("configuration cannot be read: ") + e.what());
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return parse_config(text, path, folder, overrides, std::move(lists));
}

void LoadedConfig::refuse(const std::string& key, const std::vector<std::string>& texts) const {
  Problems problems(file);
  const auto found = given.find(key);
  for (const std::string& text : texts) problems.add(found == given.end() ? Position{} : found->second.at, text);
  problems.throw_if_any();
}

}  // namespace tidemark::config
