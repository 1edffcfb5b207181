#include "ops/kernel.h"

#include "base/error.h"

namespace tidemark::ops {

void Kernel::pack(size_t which, const void*, void*, std::byte*) const {
  TM_CHECK(false, "this kernel packs no input, asked for packed input " + std::to_string(which));
}

}  // namespace tidemark::ops
