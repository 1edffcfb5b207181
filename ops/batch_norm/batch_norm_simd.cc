#include "ops/batch_norm/batch_norm_simd.h"

#include "ops/batch_norm/channel_block.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

// The processor's own prefetching stops at the end of a page; this goes one page further.
constexpr int64_t kFloatsAhead = 1024;

// Forward and backward take z from here, so that backward's mask has the bits of forward's output.
template <class Block>
struct Normalize {
  Normalize(const BatchNormChannels& of, int64_t c)
      : mean(Block::get(of.mean + c)),
        scale(Block::get(of.gamma + c) * Block::get(of.rstd + c)),
        beta(Block::get(of.beta + c)) {}
  Block z(const Block& x) const { return (x - mean) * scale + beta; }
  const Block mean, scale, beta;
};

template <bool kResidual, bool kRelu>
void normalize_rows(const float* x, const float* residual, int64_t rows, int64_t channels, const BatchNormChannels& of,
                    float* y) {
  for_each_block(channels, [=]<class Block>(Block, int64_t c) {
    const Normalize<Block> normalize(of, c);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * channels + c;
      Block z = normalize.z(Block::get(x + at));
      if constexpr (kResidual) z = z + Block::get(residual + at);
      if constexpr (kRelu) z = z.zero_where_negative();
      z.put(y + at);
    }
  });
}

// dz at `at`, where x is given: dy, or with relu dy where z > 0.
template <class Block, bool kRelu>
class OutputGradient {
 public:
  OutputGradient(const float* dy, const BatchNormChannels& of, int64_t c) : dy_(dy), normalize_(of, c) {}
  Block get(const Block& x, int64_t at) const { return Block::get(dy_ + at).zero_where_not_positive(normalize_.z(x)); }

 private:
  const float* dy_;
  const Normalize<Block> normalize_;
};
template <class Block>
class OutputGradient<Block, false> {
 public:
  OutputGradient(const float* dy, const BatchNormChannels&, int64_t) : dy_(dy) {}
  Block get(const Block&, int64_t at) const { return Block::get(dy_ + at); }

 private:
  const float* dy_;
};

template <bool kRelu>
void sum_rows(const float* dy, const float* x, int64_t rows, int64_t channels, const BatchNormChannels& of,
              float* sum_dz, float* sum_dz_xhat) {
  for_each_block(channels, [=]<class Block>(Block zero, int64_t c) {
    const OutputGradient<Block, kRelu> gradient(dy, of, c);
    const Block mean = Block::get(of.mean + c), rstd = Block::get(of.rstd + c);
    Block sum = zero, product = zero;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * channels + c;
      Block::prefetch(x + at + kFloatsAhead);
      Block::prefetch(dy + at + kFloatsAhead);
      const Block from = Block::get(x + at), dz = gradient.get(from, at);
      sum = sum + dz;
      product = product + dz * ((from - mean) * rstd);
    }
    sum.put(sum_dz + c);
    product.put(sum_dz_xhat + c);
  });
}

template <bool kRelu>
void gradient_rows(const float* dy, const float* x, int64_t rows, int64_t channels, const BatchNormChannels& of,
                   const BatchNormSums& sums, float* dx) {
  for_each_block(channels, [=]<class Block>(Block, int64_t c) {
    const OutputGradient<Block, kRelu> gradient(dy, of, c);
    const Block mean = Block::get(of.mean + c), rstd = Block::get(of.rstd + c);
    const Block scale = Block::get(of.gamma + c) * rstd;
    const Block sum_dz = Block::get(sums.dz + c), sum_dz_xhat = Block::get(sums.dz_xhat + c);
    const float inverse_count = sums.inverse_count;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * channels + c;
      Block::prefetch(x + at + kFloatsAhead);
      Block::prefetch(dy + at + kFloatsAhead);
      const Block from = Block::get(x + at), dz = gradient.get(from, at);
      const Block common = (sum_dz + (from - mean) * rstd * sum_dz_xhat) * inverse_count;
      (scale * (dz - common)).put(dx + at);
    }
  });
}

}  // namespace

void batch_moments(const float* x, int64_t rows, int64_t channels, float* mean, float* squared_deviations) {
  const float inverse_rows = 1.0f / static_cast<float>(rows);
  for_each_block(channels, [=]<class Block>(Block zero, int64_t c) {
    // Measured from the first row, so that a mean far from zero costs no digits.
    const Block first = Block::get(x + c);
    Block sum = zero;
    for (int64_t r = 1; r < rows; ++r) sum = sum + (Block::get(x + r * channels + c) - first);
    const Block center = first + sum * inverse_rows;
    Block squares = zero;
    for (int64_t r = 0; r < rows; ++r) {
      // The next chunk comes from memory while this one is read again from the cache.
      Block::prefetch(x + (rows + r) * channels + c);
      const Block deviation = Block::get(x + r * channels + c) - center;
      squares = squares + deviation * deviation;
    }
    center.put(mean + c);
    squares.put(squared_deviations + c);
  });
}

void batch_normalize(const float* x, const float* residual, int64_t rows, int64_t channels, const BatchNormChannels& of,
                     bool relu, float* y) {
  if (residual != nullptr) {
    (relu ? normalize_rows<true, true> : normalize_rows<true, false>)(x, residual, rows, channels, of, y);
  } else {
    (relu ? normalize_rows<false, true> : normalize_rows<false, false>)(x, residual, rows, channels, of, y);
  }
}

void batch_gradient_sums(const float* dy, const float* x, int64_t rows, int64_t channels, const BatchNormChannels& of,
                         bool relu, float* sum_dz, float* sum_dz_xhat) {
  (relu ? sum_rows<true> : sum_rows<false>)(dy, x, rows, channels, of, sum_dz, sum_dz_xhat);
}

void batch_gradient(const float* dy, const float* x, int64_t rows, int64_t channels, const BatchNormChannels& of,
                    bool relu, const BatchNormSums& sums, float* dx) {
  (relu ? gradient_rows<true> : gradient_rows<false>)(dy, x, rows, channels, of, sums, dx);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
