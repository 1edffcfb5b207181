// exp(x) lane by lane. For sources of tm_simd_library only.
#pragma once

#include <limits>

#include "ops/simd/vector.h"

namespace tidemark::TM_ISA_NAMESPACE {

// At most 2 units in the last place off for -87.33 <= x <= 88.72; 0 below (no subnormal results, -inf included),
// infinity above, NaN for NaN. x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts so that n * high is exact (Cody
// and Waite), e^r by its Taylor polynomial of degree 7, whose remainder is below a tenth of a unit.
inline VecF exp(VecF x) {
  constexpr float kLeast = -87.33f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
  // Lanes below the range must not become subnormal on the way: that costs a hundred cycles on some CPUs.
  const VecF limited = x > 89.0f ? spread(89.0f) : (x < kLeast ? spread(kLeast) : x);
  const VecF shifted = limited * 1.44269504088896341f + kRound;
  const VecF n = shifted - kRound;
  const VecF r = (limited - n * 0.693359375f) - n * -2.12194440e-4f;

  VecF p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;

  // 2^n as two factors: n = 128 is beyond one factor's exponent, while the product may still be finite.
  VecI exponent;
  std::memcpy(&exponent, &shifted, sizeof exponent);
  exponent -= 0x4b400000;  // the bits of kRound
  const VecI half = exponent >> 1;
  const VecI first_bits = (half + 127) << 23, second_bits = (exponent - half + 127) << 23;
  VecF first, second;
  std::memcpy(&first, &first_bits, sizeof first);
  std::memcpy(&second, &second_bits, sizeof second);

  const VecF value = p * first * second;
  return x < kLeast ? spread(0.0f) : (x > 88.722839f ? spread(std::numeric_limits<float>::infinity()) : value);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
