#include "base/cpu_isa.h"
#include "memory/arena/search/valley_search.h"

namespace tidemark::memory {

std::unique_ptr<ValleySearch> make_valley_search(const Packing& packing, int32_t largest_capacity) {
  switch (cpu_isa()) {
    case CpuIsa::x86_64_v4:
      return isa_v4::make_valley_search(packing, largest_capacity);
    case CpuIsa::x86_64_v3:
      return isa_v3::make_valley_search(packing, largest_capacity);
    case CpuIsa::x86_64_v2:
      break;
  }
  return isa_v2::make_valley_search(packing, largest_capacity);
}

}  // namespace tidemark::memory
