#include "graph/attributes.h"

#include "base/error.h"

namespace tidemark {
namespace {

constexpr std::string_view kKindNames[] = {"a bool", "an integer", "a real number", "a text", "a list of integers"};
static_assert(std::size(kKindNames) == std::variant_size_v<Attribute>);

[[noreturn]] void throw_missing(std::string_view name) {
  throw Error(ErrorCode::config, "attribute '" + std::string(name) + "' is missing");
}

[[noreturn]] void throw_wrong_kind(std::string_view name, std::string_view wanted, const Attribute& given) {
  throw Error(ErrorCode::config, "attribute '" + std::string(name) + "' must be " + std::string(wanted) + ", not " +
                                     std::string(kKindNames[given.index()]));
}

using Items = std::map<std::string, Attribute, std::less<>>;

const Attribute& find(const Items& items, std::string_view name) {
  const auto found = items.find(name);
  if (found == items.end()) throw_missing(name);
  return found->second;
}

template <class T>
const T& get(const Items& items, std::string_view name) {
  const Attribute& attribute = find(items, name);
  if (const T* value = std::get_if<T>(&attribute)) return *value;
  throw_wrong_kind(name, kKindNames[Attribute(T()).index()], attribute);
}

}  // namespace

bool Attributes::has(std::string_view name) const { return items_.find(name) != items_.end(); }

bool Attributes::boolean(std::string_view name) const { return get<bool>(items_, name); }

int64_t Attributes::integer(std::string_view name) const { return get<int64_t>(items_, name); }

double Attributes::real(std::string_view name) const {
  const Attribute& attribute = find(items_, name);
  if (const int64_t* integer = std::get_if<int64_t>(&attribute)) return static_cast<double>(*integer);
  return get<double>(items_, name);
}

const std::string& Attributes::text(std::string_view name) const { return get<std::string>(items_, name); }

const std::vector<int64_t>& Attributes::integers(std::string_view name) const {
  return get<std::vector<int64_t>>(items_, name);
}

bool Attributes::boolean_or(std::string_view name, bool otherwise) const {
  return has(name) ? boolean(name) : otherwise;
}

int64_t Attributes::integer_or(std::string_view name, int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}

double Attributes::real_or(std::string_view name, double otherwise) const { return has(name) ? real(name) : otherwise; }

std::string Attributes::text_or(std::string_view name, std::string otherwise) const {
  return has(name) ? text(name) : otherwise;
}

}  // namespace tidemark
