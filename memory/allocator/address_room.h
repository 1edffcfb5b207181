// Addresses in plenty, where the process has them.
#pragma once

#include <cstdint>

#include "device/device_memory.h"

namespace tidemark::memory {

// A range of `most_bytes`. Where the process has not so many addresses (ulimit -v), half of what it has in one piece,
// so that the rest of the program is left some, and at least `least_bytes`. Throws Error(out_of_memory) if even those
// are not there.
VirtualRange reserve_up_to(DeviceMemory& device, int64_t most_bytes, int64_t least_bytes);

}  // namespace tidemark::memory
