// The loop of the CPU kernel, once per CPU level.
#pragma once

#include <cstdint>

namespace tidemark {

#define TM_DECLARE_ADD(isa)                                                  \
  namespace isa {                                                            \
  void add_range(const float* a, const float* b, float* out, int64_t count); \
  }
TM_DECLARE_ADD(isa_v2)
TM_DECLARE_ADD(isa_v3)
TM_DECLARE_ADD(isa_v4)
#undef TM_DECLARE_ADD

}  // namespace tidemark
