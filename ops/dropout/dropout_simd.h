// The loop of the CPU kernel, once per CPU level.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace tidemark {

// y = dropout of x for elements [first, first + count) of the site's sample; first is a multiple of 4. y may be x.
#define TM_DECLARE_DROPOUT(isa)                                                                        \
  namespace isa {                                                                                      \
  void dropout_range(RandomSite site, int64_t first, const float* x, float* y, int64_t count, float p, \
                     float keep_scale);                                                                \
  }
TM_DECLARE_DROPOUT(isa_v2)
TM_DECLARE_DROPOUT(isa_v3)
TM_DECLARE_DROPOUT(isa_v4)
#undef TM_DECLARE_DROPOUT

}  // namespace tidemark
