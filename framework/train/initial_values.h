// First values of parameters and statistics.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "framework/models/model.h"

namespace tidemark::train {

// Fills `bytes` (type.bytes() of them, f32 or i32). Normal draws hang on (seed, name, element) alone: the order in
// which tensors are filled, and what else the model has, do not matter.
void write_initial_value(const models::Initializer& initializer, std::string_view name, const ValueType& type,
                         uint64_t seed, std::span<std::byte> bytes);

}  // namespace tidemark::train
