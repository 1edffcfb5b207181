// Which level of the x86-64 instruction set this CPU and operating system offer (x86-64 psABI, section 3.1.1).
#pragma once

#include <string_view>

namespace tidemark {

enum class CpuIsa {
  x86_64_v2,  // SSE4.2
  x86_64_v3,  // AVX2, FMA
  x86_64_v4,  // AVX-512 F, BW, CD, DQ, VL
};

std::string_view to_string(CpuIsa isa);  // "v2", "v3", "v4"

// Throws Error(config) for anything but v2, v3, v4.
CpuIsa parse_cpu_isa(std::string_view name);

// The highest level that this machine has and the environment variable TIDEMARK_MAX_ISA (v2, v3 or v4) allows.
// Throws Error(config) if the variable is set to something else, Error(device) if the CPU is below v2.
CpuIsa cpu_isa();

}  // namespace tidemark
