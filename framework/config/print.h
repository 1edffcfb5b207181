// A configuration as text: resolved, as JSON, and the reference of every key.
#pragma once

#include <string>

#include "framework/config/config.h"

namespace tidemark::config {

// Every key with its value, as YAML that loads to the same configuration.
std::string to_yaml(const Config& config);

// The same as one JSON object.
std::string to_json(const Config& config);

// Every key of every section and kind with its default, what it accepts and what it is for. The first kind of each list
// stands as keys, the others as comments.
std::string reference_yaml(Lists lists);

}  // namespace tidemark::config
