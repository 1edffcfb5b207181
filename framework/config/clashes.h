// Rules between keys, checked when every single key is right, and the defaults that follow from other keys.
#pragma once

#include "framework/config/config.h"
#include "framework/config/problems.h"
#include "framework/config/section_reader.h"

namespace tidemark::config {

// Fills in memory.norm_batch and memory.sum_batch where they are 0 and the model has batch norm.
void resolve_defaults(Config& config);

// Reports keys that contradict each other, at the place of the first one that was given. A key that has no effect
// beside the others is a clash if it was given and differs from its default, so that a printed configuration always
// reads back.
void find_clashes(Config& config, const GivenKeys& given, Problems& problems);

}  // namespace tidemark::config
