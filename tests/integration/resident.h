// Memory of this process, whatever it is for.
#pragma once

#include <cstdint>

namespace tidemark::tests {

// Pages that the kernel counts as there, in bytes.
int64_t resident_bytes();

}  // namespace tidemark::tests
