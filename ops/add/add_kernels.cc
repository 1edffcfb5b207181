#include "ops/add/add_kernels.h"

namespace tidemark::ops {

std::vector<KernelEntry> add_kernels() { return {{"cpu:add", KernelDevice::cpu, make_add_cpu}}; }

}  // namespace tidemark::ops
