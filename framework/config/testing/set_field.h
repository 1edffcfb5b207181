// Sets one key of a section in a test, without YAML. A key that the section does not have fails the test's process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "framework/fields/fields.h"

namespace tidemark::config {

void set_text(Section& section, std::string_view key, std::string value);  // text, path, choice, byte limit
void set_integer(Section& section, std::string_view key, int64_t value);
void set_real(Section& section, std::string_view key, double value);

}  // namespace tidemark::config
