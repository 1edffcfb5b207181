#include "ops/add/add_cuda.h"

#include "ops/cuda_launch.h"

namespace tidemark::ops {
namespace {

class AddCuda : public Kernel {
 public:
  AddCuda(AddLaunch* launch, int64_t count) : launch_(launch), count_(count) {}

  void run(const KernelArgs& args) const override {
    const float* a = static_cast<const float*>(args.inputs[0]);
    const float* b = static_cast<const float*>(args.inputs[1]);
    check_launch("add", launch_(a, b, static_cast<float*>(args.outputs[0]), count_, args.stream));
  }

 private:
  AddLaunch* const launch_;
  const int64_t count_;
};

}  // namespace

std::unique_ptr<Kernel> make_add_cuda(AddLaunch* launch, const KernelRequest& request, std::string& why_not) {
  if (request.call.input(0).dtype != DType::f32) {
    why_not = "takes f32 only";
    return nullptr;
  }
  return std::make_unique<AddCuda>(launch, request.call.input(0).shape.elements());
}

}  // namespace tidemark::ops
