// In builds with CUDA.
#include "ops/add/add_cuda.h"
#include "ops/add/add_kernels.h"

namespace tidemark::ops {
namespace {

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& why_not) {
  return make_add_cuda(cuda::launch_add, request, why_not);
}

}  // namespace

std::vector<KernelEntry> add_cuda_kernels() { return {{"cuda:add", KernelDevice::cuda, make}}; }

}  // namespace tidemark::ops
