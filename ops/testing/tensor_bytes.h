// Between doubles (the references' world) and the bytes that kernels see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ops/testing/op_case.h"

namespace tidemark::ops::testing {

// The values rounded to `type.dtype`. TM_CHECKs that there is one for each element.
std::vector<std::byte> to_bytes(const ValueType& type, const std::vector<double>& values);
std::vector<double> to_doubles(const ValueType& type, const std::byte* bytes);

// The input's explicit values or random ones, already rounded to its dtype, so that kernel and reference get the same.
Reference make_input(const InputSpec& spec, std::mt19937_64& random);

// The first element outside |got - want| <= tolerance * (scale + |want|), as text with index and both values, how many
// others there are; empty if there is none. Integers must be equal. A NaN is only right where a NaN is wanted.
std::string find_difference(const Reference& want, const std::vector<double>& got, double tolerance, double scale);

// A seed for the name, so that a case has its own values and the same ones in every run.
uint64_t seed_of(const std::string& name);

}  // namespace tidemark::ops::testing
