#include "framework/config/field_list.h"

#include <charconv>
#include <cmath>

namespace tidemark::config {
namespace {

std::string accepts(const std::string& type, const std::string& range) {
  return range.empty() ? type : type + ", " + range;
}

class FieldCollector : public Fields {
 public:
  std::vector<FieldDescription> take() { return std::move(list_); }

  void integer(std::string_view key, int64_t& target, std::string_view help, IntegerRange range) override {
    add(key, help, accepts("integer", to_string(range)), target);
  }
  void real(std::string_view key, double& target, std::string_view help, RealRange range) override {
    add(key, help, accepts("number", to_string(range)), target);
  }
  void boolean(std::string_view key, bool& target, std::string_view help) override {
    add(key, help, "true or false", target);
  }
  void text(std::string_view key, std::string& target, std::string_view help) override {
    add(key, help, "text", target);
  }
  void path(std::string_view key, std::string& target, std::string_view help, bool must_exist) override {
    add(key, help, must_exist ? "path that exists" : "path", target);
  }
  void choice(std::string_view key, std::string& target, std::string_view help,
              std::vector<std::string> allowed) override {
    add(key, help, "one of " + join(allowed), target);
  }
  void byte_limit(std::string_view key, std::string& target, std::string_view help) override {
    add(key, help, "bytes or share: 4GiB, 1048576, 90%", target);
  }
  void integers(std::string_view key, std::vector<int64_t>& target, std::string_view help,
                IntegerRange range) override {
    add(key, help, accepts("list of integers", to_string(range)), target);
  }

 private:
  void add(std::string_view key, std::string_view help, std::string accepts, FieldValue value) {
    list_.push_back({std::string(key), std::string(help), std::move(accepts), std::move(value)});
  }

  std::vector<FieldDescription> list_;
};

// Shortest form that reads back as the same double.
std::string shortest(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

// A whole number keeps a ".0", so that it is seen to be a real.
std::string real_text(double value) {
  const std::string text = shortest(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  constexpr std::string_view hex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Plain only where no YAML reader could take it for something else.
bool is_plain(const std::string& text) {
  const bool word = !text.empty() && text != "true" && text != "false" && text != "null" && text != "yes" &&
                    text != "no" && text != "on" && text != "off";
  const auto allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/'; };
  if (!word || !allowed(text[0]) || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text) {
    if (!allowed(c) && c != '-' && c != '.') return false;
  }
  return true;
}

}  // namespace

std::vector<FieldDescription> list_fields(Section& section) {
  FieldCollector collector;
  section.fields(collector);
  return collector.take();
}

std::vector<std::string> field_names(Section& section) {
  std::vector<std::string> names;
  for (const FieldDescription& field : list_fields(section)) names.push_back(field.key);
  return names;
}

std::string to_string(const IntegerRange& range) {
  const bool low = range.min != IntegerRange().min;
  const bool high = range.max != IntegerRange().max;
  if (low && high) return "from " + std::to_string(range.min) + " to " + std::to_string(range.max);
  if (low) return std::to_string(range.min) + " or more";
  if (high) return "at most " + std::to_string(range.max);
  return "";
}

std::string to_string(const RealRange& range) {
  const bool low = std::isfinite(range.min);
  const bool high = std::isfinite(range.max);
  const std::string min = shortest(range.min);
  const std::string max = shortest(range.max);
  if (low && high) {
    return std::string("in ") + (range.min_open ? "(" : "[") + min + ", " + max + (range.max_open ? ")" : "]");
  }
  if (low) return range.min_open ? "above " + min : min + " or more";
  if (high) return range.max_open ? "below " + max : "at most " + max;
  return "";
}

bool contains(const IntegerRange& range, int64_t value) { return value >= range.min && value <= range.max; }

bool contains(const RealRange& range, double value) {
  const bool above = range.min_open ? value > range.min : value >= range.min;
  const bool below = range.max_open ? value < range.max : value <= range.max;
  return above && below && std::isfinite(value);
}

std::string to_yaml(const FieldValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return real_text(*real);
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return is_plain(*text) ? *text : quoted(*text);
  std::vector<std::string> items;
  for (const int64_t item : std::get<std::vector<int64_t>>(value)) items.push_back(std::to_string(item));
  return "[" + join(items) + "]";
}

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

}  // namespace tidemark::config
