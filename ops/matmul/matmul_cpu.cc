// Note [Weight layouts]
// GFLOP/s of one Zen 5 core with oneDNN 2.6.3 at 256 rows, weights not in cache, K -> N (matmul_bench, one thread,
// 30 November 2026; dnnl_sgemm of 2048 x 2048 x 2048 reached 250 beside it):
//                   W stored [N,K]: y / dx / dw, dw + acc     W stored [K,N]: y / dx / dw, dw + acc
//   768 -> 2304         224 / 202 / 240, 187                      230 / 228 / 235, 187
//   768 -> 768          230 / 244 / 242, 189                      242 / 227 / 241, 190
//   768 -> 3072         231 / 199 / 239, 188                      212 / 227 / 222, 178
//   3072 -> 768         235 / 210 / 222, 177                      201 / 229 / 242, 189
// So [K,N] is 4 % faster for 768 -> 2304, and the layouts are equal for the rest. oneDNN copies a transposed matrix
// into panels as it goes and reads a plain one in place, which is slower with long reductions; Note [Page-strided rows]
// in gemm.cc is about the worst case. Accumulation loses a fifth at 256 rows and 5 % at 1024: the sums are read one row
// of a tile at a time, and neither touching nor prefetching them before helps. dnnl_sgemm reaches 240 to 250 nearly
// everywhere, with accumulation too, but allocates up to 7 MB inside every call, outside the arena.
#include "base/parallel.h"
#include "ops/activation/activation_simd.h"
#include "ops/matmul/matmul_kernels.h"
#include "ops/matmul/matmul_shape.h"
#include "ops/matmul/matmul_tiles.h"
#include "ops/onednn/gemm.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

using onednn::Gemm;
using onednn::GemmShape;

class GemmKernel : public Kernel {
 public:
  GemmKernel(const GemmShape& shape, int threads) : gemm_(shape, threads) {}
  int64_t workspace_bytes() const override { return gemm_.workspace_bytes(); }
  bool can_be_refused() const override { return onednn::allocates_buffers(gemm_.implementation()); }

 protected:
  const Gemm gemm_;
};

class MatmulOneDnn : public GemmKernel {
 public:
  using GemmKernel::GemmKernel;
  void run(const KernelArgs& args) const override {
    const void* bias = args.inputs.size() > 2 ? args.inputs[2] : nullptr;
    gemm_.run(args.inputs[0], args.inputs[1], bias, args.outputs[0], args.workspace);
  }
};

// The product goes to "pre"; one pass over it makes y. A post-op would not save that pass, as pre must be stored.
class MatmulGeluOneDnn : public GemmKernel {
 public:
  MatmulGeluOneDnn(const GemmShape& shape, int threads)
      : GemmKernel(shape, threads), count_(shape.m * shape.n), threads_(useful_threads(threads, count_)) {}

  void run(const KernelArgs& args) const override {
    const void* bias = args.inputs.size() > 2 ? args.inputs[2] : nullptr;
    gemm_.run(args.inputs[0], args.inputs[1], bias, args.outputs[1], args.workspace);
    float* y = static_cast<float*>(args.outputs[0]);
    const float* pre = static_cast<const float*>(args.outputs[1]);
    parallel_for(
        threads_, count_, [&](int64_t begin, int64_t end, int) { gelu_range_(pre + begin, y + begin, end - begin); },
        kElementsPerCacheLine);
  }

 private:
  const int64_t count_;
  const int threads_;
  decltype(&isa_v2::gelu_range) gelu_range_ = TM_SIMD_CHOICE(gelu_range);
};

class GradInputOneDnn : public GemmKernel {
 public:
  using GemmKernel::GemmKernel;
  void run(const KernelArgs& args) const override {
    gemm_.run(args.inputs[0], args.inputs[1], nullptr, args.outputs[0], args.workspace);
  }
};

// dw as [N,K] = dz^T x, or as [K,N] = x^T dz.
class GradWeightOneDnn : public GemmKernel {
 public:
  GradWeightOneDnn(const GemmShape& shape, int threads, bool transpose_w)
      : GemmKernel(shape, threads), transpose_w_(transpose_w) {}
  void run(const KernelArgs& args) const override {
    const void *x = args.inputs[0], *dz = args.inputs[1];
    gemm_.run(transpose_w_ ? dz : x, transpose_w_ ? x : dz, nullptr, args.outputs[0], args.workspace);
  }

 private:
  const bool transpose_w_;
};

std::unique_ptr<Kernel> make_matmul(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const MatmulShape s = matmul_shape(request.call);
  const std::string activation = request.call.attributes.text_or("activation", "none");
  const GemmShape gemm = {.m = s.rows,
                          .n = s.out,
                          .k = s.in,
                          .b_transposed = s.transpose_w,
                          .bias = request.call.has(2),
                          .relu = activation == "relu"};
  return onednn::make_or_refuse(
      [&]() -> std::unique_ptr<Kernel> {
        if (activation == "gelu") return std::make_unique<MatmulGeluOneDnn>(gemm, request.threads);
        return std::make_unique<MatmulOneDnn>(gemm, request.threads);
      },
      why_not);
}

std::unique_ptr<Kernel> make_grad_input(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const MatmulShape s = matmul_grad_input_shape(request.call);
  const GemmShape gemm = {
      .m = s.rows, .n = s.in, .k = s.out, .b_transposed = !s.transpose_w, .accumulate = request.call.has(2)};
  return onednn::make_or_refuse([&] { return std::make_unique<GradInputOneDnn>(gemm, request.threads); }, why_not);
}

std::unique_ptr<Kernel> make_grad_weight(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const MatmulShape s = matmul_grad_weight_shape(request.call);
  const GemmShape gemm = {.m = s.transpose_w ? s.out : s.in,
                          .n = s.transpose_w ? s.in : s.out,
                          .k = s.rows,
                          .a_transposed = true,
                          .accumulate = request.call.has(2)};
  return onednn::make_or_refuse(
      [&] { return std::make_unique<GradWeightOneDnn>(gemm, request.threads, s.transpose_w); }, why_not);
}

}  // namespace

std::vector<KernelEntry> matmul_kernels() {
  return {{"cpu:matmul_tiles", KernelDevice::cpu, make_matmul_tiles},
          {"onednn:matmul", KernelDevice::cpu, make_matmul}};
}

std::vector<KernelEntry> matmul_grad_input_kernels() {
  return {{"cpu:matmul_grad_input_tiles", KernelDevice::cpu, make_grad_input_tiles},
          {"onednn:matmul_grad_input", KernelDevice::cpu, make_grad_input}};
}

std::vector<KernelEntry> matmul_grad_weight_kernels() {
  return {{"cpu:matmul_grad_weight_tiles", KernelDevice::cpu, make_grad_weight_tiles},
          {"onednn:matmul_grad_weight", KernelDevice::cpu, make_grad_weight}};
}

}  // namespace tidemark::ops
