#include "ops/batch_norm/batch_norm_simd.h"

#include "ops/simd/vector.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

// Up to kLanes channels of a row: all of them, or the first few at the end of a row.
struct WholeVector {
  VecF get(const float* from) const { return load(from); }
  void put(float* to, VecF v) const { store(to, v); }
};
struct PartOfVector {
  int64_t count;
  VecF get(const float* from) const { return load_first(from, count, 0.0f); }
  void put(float* to, VecF v) const { store_first(to, v, count); }
};

// Calls body(access, c) for each vector of channels; c is its first channel.
template <class Body>
inline void for_each_vector(int64_t channels, Body body) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) body(WholeVector(), c);
  if (c < channels) body(PartOfVector{channels - c}, c);
}

inline VecF zero_where_not_positive(VecF value, VecF of) { return of > 0.0f ? value : VecF{}; }

}  // namespace

void batch_moments(const float* x, int64_t rows, int64_t channels, float* mean, float* squared_deviations) {
  const float inverse_rows = 1.0f / static_cast<float>(rows);
  for_each_vector(channels, [=](auto access, int64_t c) {
    // Measured from the first row, so that a mean far from zero costs no digits.
    const VecF first = access.get(x + c);
    VecF sum = VecF{};
    for (int64_t r = 1; r < rows; ++r) sum += access.get(x + r * channels + c) - first;
    const VecF center = first + sum * inverse_rows;
    VecF squares = VecF{};
    for (int64_t r = 0; r < rows; ++r) {
      const VecF deviation = access.get(x + r * channels + c) - center;
      squares += deviation * deviation;
    }
    access.put(mean + c, center);
    access.put(squared_deviations + c, squares);
  });
}

void batch_normalize(const float* x, int64_t rows, int64_t channels, const float* mean, const float* rstd,
                     const float* gamma, const float* beta, bool relu, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    for_each_vector(channels, [=](auto access, int64_t c) {
      const VecF scale = access.get(gamma + c) * access.get(rstd + c);
      const VecF z = (access.get(x + r * channels + c) - access.get(mean + c)) * scale + access.get(beta + c);
      access.put(y + r * channels + c, relu ? (z < 0.0f ? VecF{} : z) : z);
    });
  }
}

void batch_gradient_sums(const float* dy, const float* x, const float* y_or_null, int64_t rows, int64_t channels,
                         const float* mean, const float* rstd, float* sum_dz, float* sum_dz_xhat) {
  for_each_vector(channels, [=](auto access, int64_t c) {
    const VecF center = access.get(mean + c), scale = access.get(rstd + c);
    VecF sum = VecF{}, product = VecF{};
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * channels + c;
      VecF dz = access.get(dy + at);
      if (y_or_null != nullptr) dz = zero_where_not_positive(dz, access.get(y_or_null + at));
      sum += dz;
      product += dz * ((access.get(x + at) - center) * scale);
    }
    access.put(sum_dz + c, sum);
    access.put(sum_dz_xhat + c, product);
  });
}

void batch_gradient(const float* dy, const float* x, const float* y_or_null, int64_t rows, int64_t channels,
                    const BatchNormGradient& of, float* dx) {
  for (int64_t r = 0; r < rows; ++r) {
    for_each_vector(channels, [=](auto access, int64_t c) {
      const int64_t at = r * channels + c;
      const VecF rstd = access.get(of.rstd + c);
      const VecF xhat = (access.get(x + at) - access.get(of.mean + c)) * rstd;
      VecF dz = access.get(dy + at);
      if (y_or_null != nullptr) dz = zero_where_not_positive(dz, access.get(y_or_null + at));
      const VecF common = (access.get(of.sum_dz + c) + xhat * access.get(of.sum_dz_xhat + c)) * of.inverse_count;
      access.put(dx + at, access.get(of.gamma + c) * rstd * (dz - common));
    });
  }
}

}  // namespace tidemark::TM_ISA_NAMESPACE
