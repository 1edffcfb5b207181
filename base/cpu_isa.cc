#include "base/cpu_isa.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "base/error.h"

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"v2", "v3", "v4"};

// The builtins look at CPUID and at which registers the operating system saves.
CpuIsa machine_isa() {
  if (__builtin_cpu_supports("x86-64-v4")) return CpuIsa::x86_64_v4;
  if (__builtin_cpu_supports("x86-64-v3")) return CpuIsa::x86_64_v3;
  if (__builtin_cpu_supports("x86-64-v2")) return CpuIsa::x86_64_v2;
  throw Error(ErrorCode::device, "this CPU lacks x86-64-v2 (SSE4.2), the least that the kernels are compiled for");
}

}  // namespace

std::string_view to_string(CpuIsa isa) { return kNames[static_cast<size_t>(isa)]; }

CpuIsa parse_cpu_isa(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<CpuIsa>(i);
  }
  throw Error(ErrorCode::config, "CPU level '" + std::string(name) + "' is unknown; the levels are v2, v3, v4");
}

CpuIsa cpu_isa() {
  const CpuIsa machine = machine_isa();
  const char* limit = std::getenv("TIDEMARK_MAX_ISA");
  if (!limit) return machine;
  try {
    return std::min(machine, parse_cpu_isa(limit));
  } catch (const Error& e) {
    throw Error(ErrorCode::config, std::string("TIDEMARK_MAX_ISA: ") + e.what());
  }
}

}  // namespace tidemark
