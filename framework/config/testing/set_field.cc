#include "framework/config/testing/set_field.h"

#include <variant>

#include "base/error.h"

namespace tidemark::config {
namespace {

using Value = std::variant<std::string, int64_t, double>;

class FieldSetter : public Fields {
 public:
  FieldSetter(std::string_view key, Value value) : key_(key), value_(std::move(value)) {}
  bool done() const { return done_; }

  void integer(std::string_view key, int64_t& target, std::string_view, IntegerRange) override { set(key, target); }
  void real(std::string_view key, double& target, std::string_view, RealRange) override { set(key, target); }
  void boolean(std::string_view, bool&, std::string_view) override {}
  void text(std::string_view key, std::string& target, std::string_view) override { set(key, target); }
  void path(std::string_view key, std::string& target, std::string_view, bool) override { set(key, target); }
  void choice(std::string_view key, std::string& target, std::string_view, std::vector<std::string>) override {
    set(key, target);
  }
  void byte_limit(std::string_view key, std::string& target, std::string_view) override { set(key, target); }
  void integers(std::string_view, std::vector<int64_t>&, std::string_view, IntegerRange) override {}

 private:
  template <class Type>
  void set(std::string_view key, Type& target) {
    if (key != key_) return;
    target = std::get<Type>(value_);
    done_ = true;
  }

  std::string_view key_;
  Value value_;
  bool done_ = false;
};

void set(Section& section, std::string_view key, Value value) {
  FieldSetter setter(key, std::move(value));
  section.fields(setter);
  TM_CHECK(setter.done(), "no key '" + std::string(key) + "'");
}

}  // namespace

void set_text(Section& section, std::string_view key, std::string value) { set(section, key, std::move(value)); }
void set_integer(Section& section, std::string_view key, int64_t value) { set(section, key, value); }
void set_real(Section& section, std::string_view key, double value) { set(section, key, value); }

}  // namespace tidemark::config
