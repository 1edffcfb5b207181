// For gradient rules: a backward op that can add onto the gradient collected so far.
#pragma once

#include <string_view>
#include <vector>

#include "graph/autodiff.h"

namespace tidemark::ops {

// Emits `op` named FORWARD/`name`, whose first output is the gradient of the forward node's input i. If a sum for that
// input exists already, it goes in as the last of `inputs`, and the output is the new sum (OutputSpec::overwrites).
void emit_accumulating(GradientContext& context, size_t i, std::string_view op, std::string_view name,
                       std::vector<ValueId> inputs, Attributes attributes = {});

}  // namespace tidemark::ops
