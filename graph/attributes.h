// Attributes of a node: what its op needs to know beyond its inputs, fixed when the graph is built.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tidemark {

using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  void set(std::string name, Attribute value) { items_[std::move(name)] = std::move(value); }
  bool has(std::string_view name) const;

  // Throw Error(config) naming the attribute if it is missing or of another type. An int is accepted as a double.
  bool boolean(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;

  // The same, with a value for a missing attribute.
  bool boolean_or(std::string_view name, bool otherwise) const;
  int64_t integer_or(std::string_view name, int64_t otherwise) const;
  double real_or(std::string_view name, double otherwise) const;
  std::string text_or(std::string_view name, std::string otherwise) const;

  const std::map<std::string, Attribute, std::less<>>& items() const { return items_; }
  bool operator==(const Attributes&) const = default;

 private:
  std::map<std::string, Attribute, std::less<>> items_;  // ordered: the text form and digests are stable
};

}  // namespace tidemark
