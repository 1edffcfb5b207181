// In builds with CUDA.
#include "ops/layer_norm/layer_norm_cuda.h"
#include "ops/layer_norm/layer_norm_kernels.h"

namespace tidemark::ops {
namespace {

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& why_not) {
  return make_layer_norm_cuda(cuda::launch_layer_norm, request, why_not);
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request, std::string& why_not) {
  return make_layer_norm_grad_cuda(cuda::launch_layer_norm_grad, request, why_not);
}

}  // namespace

std::vector<KernelEntry> layer_norm_cuda_kernels() { return {{"cuda:layer_norm", KernelDevice::cuda, make}}; }

std::vector<KernelEntry> layer_norm_grad_cuda_kernels() {
  return {{"cuda:layer_norm_grad", KernelDevice::cuda, make_grad}};
}

}  // namespace tidemark::ops
