#include "framework/config/section_reader.h"

#include <charconv>
#include <filesystem>

#include "base/bytes.h"
#include "base/error.h"
#include "framework/config/field_list.h"
#include "framework/config/nearest.h"

namespace tidemark::config {
namespace {

// True if all of `text` is one number of the target's type.
template <class Number>
std::errc parse_number(const std::string& text, Number& number) {
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-');
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(begin, end, number);
  if (result.ec == std::errc() && result.ptr != end) return std::errc::invalid_argument;
  return result.ec;
}

std::string with_range(const std::string& type, const std::string& range) {
  return range.empty() ? type : type + ", " + range;
}

}  // namespace

SectionReader::SectionReader(const YamlNode& node, std::string prefix, std::string folder, Problems& problems,
                             GivenKeys& given)
    : node_(node), prefix_(std::move(prefix)), folder_(std::move(folder)), problems_(problems), given_(given) {}

void SectionReader::wrong(Position at, std::string_view key, const std::string& text) {
  const std::string full_key = prefix_ + std::string(key);
  problems_.add(at, "key '" + full_key + "' " + text);
  if (const auto given = given_.find(full_key); given != given_.end()) given->second.valid = false;
}

const YamlNode* SectionReader::value_of(std::string_view key) {
  known_.emplace(key);
  const YamlEntry* entry = node_.find(key);
  if (entry == nullptr) return nullptr;
  given_[prefix_ + entry->key] = {entry->value.at};
  if (entry->value.kind == YamlNode::Kind::null) {
    wrong(entry->key_at, key, "has no value");
    return nullptr;
  }
  return &entry->value;
}

const YamlNode* SectionReader::scalar_of(std::string_view key, const std::string& wanted) {
  const YamlNode* value = value_of(key);
  if (value == nullptr || value->kind == YamlNode::Kind::scalar) return value;
  wrong(value->at, key, "must be " + wanted + ", is " + describe(*value));
  return nullptr;
}

bool SectionReader::read_integer(const YamlNode& node, std::string_view key, const std::string& wanted,
                                 IntegerRange range, int64_t& target) {
  int64_t number = 0;
  const bool scalar = node.kind == YamlNode::Kind::scalar && !node.quoted;
  const std::errc result = scalar ? parse_number(node.scalar, number) : std::errc::invalid_argument;
  if (result == std::errc() && contains(range, number)) {
    target = number;
    return true;
  }
  wrong(node.at, key, "must be " + wanted + ", is " + describe(node));
  return false;
}

void SectionReader::integer(std::string_view key, int64_t& target, std::string_view, IntegerRange range) {
  const YamlNode* value = value_of(key);
  if (value != nullptr) read_integer(*value, key, with_range("an integer", to_string(range)), range, target);
}

void SectionReader::real(std::string_view key, double& target, std::string_view, RealRange range) {
  const std::string wanted = with_range("a number", to_string(range));
  const YamlNode* value = scalar_of(key, wanted);
  if (value == nullptr) return;
  double number = 0;
  const std::errc result = value->quoted ? std::errc::invalid_argument : parse_number(value->scalar, number);
  if (result == std::errc() && contains(range, number)) {
    target = number;
  } else {
    wrong(value->at, key, "must be " + wanted + ", is " + describe(*value));
  }
}

void SectionReader::boolean(std::string_view key, bool& target, std::string_view) {
  const YamlNode* value = scalar_of(key, "true or false");
  if (value == nullptr) return;
  if (!value->quoted && (value->scalar == "true" || value->scalar == "false")) {
    target = value->scalar == "true";
  } else {
    wrong(value->at, key, "must be true or false, is " + describe(*value));
  }
}

void SectionReader::text(std::string_view key, std::string& target, std::string_view) {
  if (const YamlNode* value = scalar_of(key, "text")) target = value->scalar;
}

void SectionReader::path(std::string_view key, std::string& target, std::string_view help, bool must_exist) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // what cannot be looked at does not exist for us
  const YamlNode* value = scalar_of(key, "a path");
  if (value == nullptr) {
    if (!must_exist || node_.find(key) != nullptr) return;
    if (target.empty()) {
      wrong(node_.at, key, "is missing: " + std::string(help));
    } else if (!fs::exists(target, ignored)) {
      wrong(node_.at, key, "is '" + target + "' by default, which does not exist: " + std::string(help));
    }
    return;
  }
  const fs::path beside = fs::path(folder_) / value->scalar;
  const bool is_beside = !value->scalar.empty() && fs::path(value->scalar).is_relative() && fs::exists(beside, ignored);
  target = is_beside ? beside.string() : value->scalar;
  if (must_exist && !fs::exists(target, ignored)) {
    wrong(value->at, key, "names '" + target + "', which exists neither beside the configuration nor as given");
  }
}

void SectionReader::choice(std::string_view key, std::string& target, std::string_view,
                           std::vector<std::string> allowed) {
  const YamlNode* value = scalar_of(key, "one of " + join(allowed));
  if (value == nullptr) return;
  for (const std::string& word : allowed) {
    if (value->scalar == word) {
      target = word;
      return;
    }
  }
  const std::string near = nearest(value->scalar, allowed);
  wrong(value->at, key,
        "must be one of " + join(allowed) + ", is " + describe(*value) +
            (near.empty() ? "" : "; nearest is '" + near + "'"));
}

void SectionReader::byte_limit(std::string_view key, std::string& target, std::string_view) {
  const YamlNode* value = scalar_of(key, "bytes or a share: 4GiB, 1048576, 90%");
  if (value == nullptr) return;
  try {
    if (!value->scalar.empty()) parse_byte_limit(value->scalar);
    target = value->scalar;
  } catch (const Error& e) {
    const bool is_of_peak = value->scalar.ends_with("%peak");
    wrong(
        value->at, key,
        std::string("is wrong: ") +
            (is_of_peak ? "shares of the peak are for `plan --budget`, which says how many bytes that is" : e.what()));
  }
}

void SectionReader::integers(std::string_view key, std::vector<int64_t>& target, std::string_view, IntegerRange range) {
  const YamlNode* value = value_of(key);
  if (value == nullptr) return;
  if (value->kind != YamlNode::Kind::sequence) {
    wrong(value->at, key, "must be a list of integers such as [64, 128], is " + describe(*value));
    return;
  }
  std::vector<int64_t> numbers;
  for (const YamlNode& item : value->items) {
    int64_t number = 0;
    if (!read_integer(item, key, with_range("a list of integers", to_string(range)), range, number)) return;
    numbers.push_back(number);
  }
  target = std::move(numbers);
}

void SectionReader::report_unknown(const std::function<std::string(const std::string&)>& suggest) {
  for (const YamlEntry& entry : node_.entries) {
    if (known_.contains(entry.key)) continue;
    const std::string full_key = prefix_ + entry.key;
    const std::string hint = suggest(full_key);
    problems_.add(entry.key_at, "key '" + full_key + "' is unknown" + (hint.empty() ? "" : "; " + hint));
  }
}

}  // namespace tidemark::config
