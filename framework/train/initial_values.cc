#include "framework/train/initial_values.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/philox.h"

namespace tidemark::train {
namespace {

// FNV-1a: names of tensors spread over the generator's counters.
uint64_t hash_name(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3ULL;
  return hash;
}

void write_normal(float* out, int64_t count, double stddev, std::string_view name, uint64_t seed) {
  const uint64_t hash = hash_name(name);
  const RandomSite site{.seed = seed,
                        .step = static_cast<uint32_t>(hash),
                        .sample = static_cast<uint32_t>(hash >> 32),
                        .op = 0xffffffffU};  // no dropout site has this number
  for (int64_t i = 0; i < count; i += 4) {
    const Philox4 bits = random_block(site, static_cast<uint32_t>(i / 4));
    const NormalPair a = normal_pair(bits.word[0], bits.word[1]);
    const NormalPair b = normal_pair(bits.word[2], bits.word[3]);
    const float draws[4] = {a.first, a.second, b.first, b.second};
    for (int64_t k = 0; k < std::min<int64_t>(4, count - i); ++k) out[i + k] = static_cast<float>(stddev) * draws[k];
  }
}

template <class T>
void write_constant(std::span<std::byte> bytes, T value) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) std::memcpy(bytes.data() + at, &value, sizeof(T));
}

}  // namespace

void write_initial_value(const models::Initializer& initializer, std::string_view name, const ValueType& type,
                         uint64_t seed, std::span<std::byte> bytes) {
  TM_CHECK(static_cast<int64_t>(bytes.size()) == type.bytes(), "bytes of '" + std::string(name) + "'");
  if (initializer.kind == models::Initializer::Kind::normal) {
    TM_CHECK(type.dtype == DType::f32, "normal initial values are f32");
    return write_normal(reinterpret_cast<float*>(bytes.data()), type.shape.elements(), initializer.value, name, seed);
  }
  if (type.dtype == DType::i32) return write_constant(bytes, static_cast<int32_t>(initializer.value));
  TM_CHECK(type.dtype == DType::f32, "initial values are f32 or i32");
  write_constant(bytes, static_cast<float>(initializer.value));
}

}  // namespace tidemark::train
