#include "ops/testing/tensor_bytes.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/error.h"

namespace tidemark::ops::testing {
namespace {

// To nearest, ties to even; inputs are finite.
uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

template <class Stored, class Convert>
void store_all(const std::vector<double>& values, std::byte* out, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(out + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

template <class Stored, class Convert>
std::vector<double> load_all(int64_t count, const std::byte* in, Convert convert) {
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, in + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

bool close(double want, double got, double allowed) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  return want == got || std::abs(got - want) <= allowed;
}

}  // namespace

std::vector<std::byte> to_bytes(const ValueType& type, const std::vector<double>& values) {
  TM_CHECK(static_cast<int64_t>(values.size()) == type.shape.elements(),
           std::to_string(values.size()) + " values for " + to_string(type));
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  switch (type.dtype) {
    case DType::f32:
      store_all<float>(values, bytes.data(), [](double v) { return static_cast<float>(v); });
      break;
    case DType::bf16:
      store_all<uint16_t>(values, bytes.data(), [](double v) { return to_bf16(static_cast<float>(v)); });
      break;
    case DType::i32:
      store_all<int32_t>(values, bytes.data(), [](double v) { return static_cast<int32_t>(v); });
      break;
    case DType::u8:
      store_all<uint8_t>(values, bytes.data(), [](double v) { return static_cast<uint8_t>(v); });
      break;
  }
  return bytes;
}

std::vector<double> to_doubles(const ValueType& type, const std::byte* bytes) {
  const int64_t count = type.shape.elements();
  switch (type.dtype) {
    case DType::f32:
      return load_all<float>(count, bytes, [](float v) { return static_cast<double>(v); });
    case DType::bf16:
      return load_all<uint16_t>(count, bytes,
                                [](uint16_t v) -> double { return std::bit_cast<float>(uint32_t{v} << 16); });
    case DType::i32:
      return load_all<int32_t>(count, bytes, [](int32_t v) { return static_cast<double>(v); });
    case DType::u8:
      return load_all<uint8_t>(count, bytes, [](uint8_t v) { return static_cast<double>(v); });
  }
  TM_CHECK(false, "unknown dtype");
}

Reference make_input(const InputSpec& spec, std::mt19937_64& random) {
  Reference input{spec.type, spec.values};
  if (input.data.empty()) {
    input.data.resize(static_cast<size_t>(spec.type.shape.elements()));
    const bool is_real = spec.type.dtype == DType::f32 || spec.type.dtype == DType::bf16;
    std::normal_distribution<double> normal(spec.mean, spec.stddev);
    std::uniform_int_distribution<int64_t> uniform(spec.low, spec.high - 1);
    for (double& value : input.data) value = is_real ? normal(random) : static_cast<double>(uniform(random));
  }
  input.data = to_doubles(spec.type, to_bytes(spec.type, input.data).data());
  return input;
}

std::string find_difference(const Reference& want, const std::vector<double>& got, double tolerance, double scale) {
  if (want.data.size() != got.size()) {
    return "wanted " + std::to_string(want.data.size()) + " elements, got " + std::to_string(got.size());
  }
  const bool is_real = want.type.dtype == DType::f32 || want.type.dtype == DType::bf16;
  int64_t wrong = 0;
  std::ostringstream text;
  text.precision(9);
  for (size_t i = 0; i < got.size(); ++i) {
    const double allowed = is_real ? tolerance * (scale + std::abs(want.data[i])) : 0.0;
    if (close(want.data[i], got[i], allowed)) continue;
    if (wrong++ == 0)
      text << "element " << i << " of " << to_string(want.type) << ": wanted " << want.data[i] << ", got " << got[i];
  }
  if (wrong > 1) text << " (and " << wrong - 1 << " others differ)";
  return text.str();
}

uint64_t seed_of(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace tidemark::ops::testing
