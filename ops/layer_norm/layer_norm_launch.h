// The launchers of the CUDA kernels, for a device and emulated on the host. They return nullptr or the text of a launch
// error; all arrays are in device memory, rows contiguous.
#pragma once

#include <cstdint>

namespace tidemark {

struct LayerNormLaunchArgs {
  int64_t rows = 0, channels = 0;
  float eps = 0;
  const float *x = nullptr, *gamma = nullptr, *beta = nullptr;
  float *y = nullptr, *mean = nullptr, *rstd = nullptr;
};

struct LayerNormGradLaunchArgs {
  int64_t rows = 0, channels = 0;
  const float *dy = nullptr, *x = nullptr, *gamma = nullptr, *mean = nullptr, *rstd = nullptr;
  const float *acc_dx = nullptr, *acc_dgamma = nullptr, *acc_dbeta = nullptr;  // nullptr: nothing is added to
  float *dx = nullptr, *dgamma = nullptr, *dbeta = nullptr;                    // dx may be dy; each may be its acc
};

using LayerNormLaunch = const char*(const LayerNormLaunchArgs& args, void* stream);
using LayerNormGradLaunch = const char*(const LayerNormGradLaunchArgs& args, void* stream);

namespace cuda {
LayerNormLaunch launch_layer_norm;
LayerNormGradLaunch launch_layer_norm_grad;
}  // namespace cuda
namespace cuda_emulated {
LayerNormLaunch launch_layer_norm;
LayerNormGradLaunch launch_layer_norm_grad;
}  // namespace cuda_emulated

}  // namespace tidemark
