// The arithmetic of add, for every device.
#pragma once

#include "base/host_device.h"

namespace tidemark::ops {

TM_HOST_DEVICE inline float add_math(float a, float b) { return a + b; }

}  // namespace tidemark::ops
