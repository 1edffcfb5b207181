// The launcher of the CUDA kernel, for a device and emulated on the host.
#pragma once

#include <cstdint>

namespace tidemark {

// out[i] = a[i] + b[i] on `stream`; out may be a or b. Returns nullptr or the text of a launch error.
using AddLaunch = const char*(const float* a, const float* b, float* out, int64_t count, void* stream);

namespace cuda {
AddLaunch launch_add;
}
namespace cuda_emulated {
AddLaunch launch_add;
}

}  // namespace tidemark
