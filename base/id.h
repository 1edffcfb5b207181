// Distinct integer ids, one type per kind of object: mixing them up does not compile.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tidemark {

// An index into the owner's table; a default-constructed id names nothing.
template <class Tag>
struct Id {
  int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(int32_t v) : value(v) {}
  constexpr explicit Id(size_t v) : value(static_cast<int32_t>(v)) {}
  constexpr bool valid() const { return value >= 0; }
  constexpr size_t index() const { return static_cast<size_t>(value); }
  constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace tidemark

template <class Tag>
struct std::hash<tidemark::Id<Tag>> {
  size_t operator()(tidemark::Id<Tag> id) const noexcept { return std::hash<int32_t>()(id.value); }
};
