// Sets a model's keys by name, for tests that need no configuration file; the rest keeps its default.
#pragma once

#include <map>
#include <vector>

#include "framework/fields/fields.h"

namespace tidemark::models {

class Keys : public config::Fields {
 public:
  std::map<std::string, int64_t, std::less<>> integers_by_name;
  std::map<std::string, double, std::less<>> reals_by_name;
  std::map<std::string, std::vector<int64_t>, std::less<>> lists_by_name;

  void integer(std::string_view key, int64_t& target, std::string_view, config::IntegerRange) override {
    take(integers_by_name, key, target);
  }
  void real(std::string_view key, double& target, std::string_view, config::RealRange) override {
    take(reals_by_name, key, target);
  }
  void boolean(std::string_view, bool&, std::string_view) override {}
  void text(std::string_view, std::string&, std::string_view) override {}
  void path(std::string_view, std::string&, std::string_view, bool) override {}
  void choice(std::string_view, std::string&, std::string_view, std::vector<std::string>) override {}
  void byte_limit(std::string_view, std::string&, std::string_view) override {}
  void integers(std::string_view key, std::vector<int64_t>& target, std::string_view, config::IntegerRange) override {
    take(lists_by_name, key, target);
  }

 private:
  template <class Map, class T>
  void take(const Map& map, std::string_view key, T& target) {
    if (const auto found = map.find(key); found != map.end()) target = found->second;
  }
};

}  // namespace tidemark::models
