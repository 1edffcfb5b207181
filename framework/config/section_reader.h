// Reads one section of the tree into its bound variables, and notes every problem instead of stopping at the first.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "framework/config/problems.h"
#include "framework/config/yaml_tree.h"
#include "framework/fields/fields.h"

namespace tidemark::config {

struct Given {
  Position at;        // of the value; of the name, for a section
  bool valid = true;  // false once a problem was reported
};

// Full keys ("train.lr") and sections that were given.
using GivenKeys = std::map<std::string, Given, std::less<>>;

class SectionReader : public Fields {
 public:
  // `node` is the section's mapping, `prefix` "train." or "" for the top; relative paths are looked for in `folder`
  // first. `given` receives each key that was read, right or wrong.
  SectionReader(const YamlNode& node, std::string prefix, std::string folder, Problems& problems, GivenKeys& given);

  // Keys that fields() does not declare but the section may hold (kind, subsections).
  void allow(const std::string& key) { known_.insert(key); }

  // Reads all keys of `section`.
  void read(Section& section) { section.fields(*this); }

  // Reports the keys that nobody asked for. `suggest` gives a hint to what was probably meant, or "".
  void report_unknown(const std::function<std::string(const std::string& full_key)>& suggest);

  void integer(std::string_view key, int64_t& target, std::string_view help, IntegerRange range) override;
  void real(std::string_view key, double& target, std::string_view help, RealRange range) override;
  void boolean(std::string_view key, bool& target, std::string_view help) override;
  void text(std::string_view key, std::string& target, std::string_view help) override;
  void path(std::string_view key, std::string& target, std::string_view help, bool must_exist) override;
  void choice(std::string_view key, std::string& target, std::string_view help,
              std::vector<std::string> allowed) override;
  void byte_limit(std::string_view key, std::string& target, std::string_view help) override;
  void integers(std::string_view key, std::vector<int64_t>& target, std::string_view help, IntegerRange range) override;

 private:
  // The value of a key, nullptr if it is not given (or given without a value, which is reported).
  const YamlNode* value_of(std::string_view key);
  // A scalar, else nullptr after a report that `wanted` was wanted.
  const YamlNode* scalar_of(std::string_view key, const std::string& wanted);
  bool read_integer(const YamlNode& node, std::string_view key, const std::string& wanted, IntegerRange range,
                    int64_t& target);
  // Reports "key '...' TEXT" and marks the key as not valid.
  void wrong(Position at, std::string_view key, const std::string& text);

  const YamlNode& node_;
  std::string prefix_;
  std::string folder_;
  Problems& problems_;
  GivenKeys& given_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace tidemark::config
