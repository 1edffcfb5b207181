// Picks the copy of a kernel function that fits this CPU, among those that tm_simd_library compiled.
#pragma once

#include "base/cpu_isa.h"

namespace tidemark::ops {

// For functions of one type, say simd_choice(isa_v2::f, isa_v3::f, isa_v4::f). Called when a kernel is made.
template <class Function>
Function* simd_choice(Function* v2, Function* v3, Function* v4) {
  switch (cpu_isa()) {
    case CpuIsa::x86_64_v4:
      return v4;
    case CpuIsa::x86_64_v3:
      return v3;
    default:
      return v2;
  }
}

// The same by name: TM_SIMD_CHOICE(add_range).
#define TM_SIMD_CHOICE(function) \
  ::tidemark::ops::simd_choice(::tidemark::isa_v2::function, ::tidemark::isa_v3::function, ::tidemark::isa_v4::function)

}  // namespace tidemark::ops
