// How what runs again is named: a further run of NODE is the node NODE/again, the next ones NODE/again_2 and so on, and
// what it makes of VALUE is VALUE/again ... in the same way (apply_schedule of step_trace.h).
#pragma once

#include <string>
#include <string_view>

namespace tidemark::compile {

inline constexpr std::string_view kAgainSuffix = "/again";

// What is run, or made, again under this name; empty if the name is not that of a further run.
inline std::string first_run_of(std::string_view name) {
  const size_t at = name.rfind(kAgainSuffix);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = name.substr(at + kAgainSuffix.size());
  const bool is_numbered =
      rest.size() > 1 && rest[0] == '_' && rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return rest.empty() || is_numbered ? std::string(name.substr(0, at)) : "";
}

}  // namespace tidemark::compile
