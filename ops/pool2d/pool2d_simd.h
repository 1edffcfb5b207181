// The loops of the CPU kernels, once per CPU level.
#pragma once

#include <cstdint>

namespace tidemark {

struct MaxPoolSizes {
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  int64_t out_height = 0, out_width = 0;
  int64_t window = 1, stride = 1, pad = 0;
};

// max_pool_row: one row of one output image, y and indices [OW,C], from the image x [H,W,C].
// max_pool_grad_row: one row dx [W,C] of one image, from the image's dy and indices [OH,OW,C].
// average_rows: y[C] = the mean of `rows` rows of x.
#define TM_DECLARE_POOL2D(isa)                                                                                    \
  namespace isa {                                                                                                 \
  void max_pool_row(const MaxPoolSizes& s, const float* x, int64_t out_row, float* y, uint8_t* indices);          \
  void max_pool_grad_row(const MaxPoolSizes& s, const float* dy, const uint8_t* indices, int64_t row, float* dx); \
  void average_rows(const float* x, int64_t rows, int64_t channels, float* y);                                    \
  }
TM_DECLARE_POOL2D(isa_v2)
TM_DECLARE_POOL2D(isa_v3)
TM_DECLARE_POOL2D(isa_v4)
#undef TM_DECLARE_POOL2D

}  // namespace tidemark
