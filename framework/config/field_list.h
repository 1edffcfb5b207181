// The keys of a section as plain data: what printing and the reference need.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "framework/fields/fields.h"

namespace tidemark::config {

using FieldValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

struct FieldDescription {
  std::string key;
  std::string help;
  std::string accepts;  // "integer, 1 or more", "one of sgd, adamw", "true or false"
  FieldValue value;     // as it stands now; the default in a fresh section
};

std::vector<FieldDescription> list_fields(Section& section);
std::vector<std::string> field_names(Section& section);

// Ranges in words: "1 or more", "in [0, 1)", "above 0"; empty if anything goes.
std::string to_string(const IntegerRange& range);
std::string to_string(const RealRange& range);
bool contains(const IntegerRange& range, int64_t value);
bool contains(const RealRange& range, double value);

// The value as YAML that reads back as the same value; reals in the shortest such form.
std::string to_yaml(const FieldValue& value);
std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");

}  // namespace tidemark::config
