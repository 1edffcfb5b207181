#include "ops/cuda_launch.h"

#include "base/error.h"

namespace tidemark::ops {

void check_launch(const char* kernel, const char* error) {
  if (error) throw Error(ErrorCode::device, std::string("CUDA kernel ") + kernel + " was not launched: " + error);
}

}  // namespace tidemark::ops
