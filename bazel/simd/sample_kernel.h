// A kernel that exists only to test tm_simd_library: it takes a template of the standard library, so that its
// objects hold weak symbols that must not leave them.
#pragma once

#include <vector>

namespace tidemark {

// Each level of the instruction set has its own copy, in its own namespace.
#define TM_DECLARE_SAMPLE(isa)                                    \
  namespace isa {                                                 \
  float PositiveDot(const std::vector<float>& a, const float* b); \
  int SampleLevel();                                              \
  }
TM_DECLARE_SAMPLE(isa_v2)
TM_DECLARE_SAMPLE(isa_v3)
TM_DECLARE_SAMPLE(isa_v4)
#undef TM_DECLARE_SAMPLE

}  // namespace tidemark
