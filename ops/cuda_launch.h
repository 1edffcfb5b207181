// What the host side of CUDA kernels shares. No CUDA header: this side is compiled and tested without a toolkit.
#pragma once

namespace tidemark::ops {

// Throws Error(device) naming the kernel if a launcher reported an error (device/cuda/language/language.h).
void check_launch(const char* kernel, const char* error);

}  // namespace tidemark::ops
