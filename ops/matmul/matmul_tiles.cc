#include "ops/matmul/matmul_tiles.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/matmul/matmul_shape.h"
#include "ops/matmul/tiles.h"
#include "ops/op_rules.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

// Note [Tiles or oneDNN]
// GFLOP/s of one Zen 5 core, tiles / oneDNN 2.6.3, K -> N, weights not in cache, medians of the thread's CPU time while
// the machine was busy (30 November 2026, a loop over both kernels; matmul_bench runs the one that is chosen):
//
//   256 rows               3072 -> 768   768 -> 3072   768 -> 2304   768 -> 768
//   y, W as [K,N]            234 / 193     235 / 217     239 / 236    242 / 242
//   dx, W as [N,K]           227 / 212     228 / 198     236 / 205    222 / 247
//
//   768 -> 3072 by rows     32          64         128         256         512        1024
//   dx, W as [N,K]      133 / 129   174 / 152   203 / 169   228 / 198   221 / 182   235 / 199
//   dw + acc            169 / 73    191 / 112   212 / 150   219 / 189   204 / 204   198 / 220
//
// oneDNN loses with long sums, with rows of whole pages and where it adds to C. Without an accumulator its dw is faster
// by a few percent. Where W lies transposed for the product, copying it into panels costs the tiles what they gain.
// With AVX2 alone the tiles reach 95 % of oneDNN's y and dx and 107 % of its dw + acc; they are kept there because
// oneDNN's kernels for that level allocate megabytes in every run.
constexpr int64_t kLeastRows = 128;    // fewer do not pay for the copy of the weight
constexpr int64_t kLeastTerms = 1024;  // of a sum, unless rows of the weight fill whole pages
constexpr int64_t kPageFloats = 1024;
constexpr int64_t kMostSummedRows = 512;  // of an accumulating weight gradient
constexpr int64_t kDepthBlock = 768;
constexpr int64_t kGroupFloats = 100'000;  // panels of activations: less than half of a second-level cache of 1 MiB

const TileKernels& kernels() {
  return *simd_choice(&isa_v2::kTileKernels, &isa_v3::kTileKernels, &isa_v4::kTileKernels);
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

TileCut cut_of(const TileProduct& p) {
  const int64_t depth = std::max<int64_t>(p.depth, 1);
  TileCut cut{.depth_block = divide_up(depth, divide_up(depth, kDepthBlock)), .group_panels = 1};
  // Only activations are worth keeping in the cache: a panel of a weight is used for one pass over the rows.
  if (p.left_transposed) {
    cut.group_panels = std::max<int64_t>(1, kGroupFloats / (cut.depth_block * kernels().panel_columns));
  }
  return cut;
}

// `p` without its pointers, which every run sets.
class TilesKernel : public Kernel {
 public:
  TilesKernel(const TileProduct& p, int threads)
      : product_(p), threads_(threads), cut_(cut_of(p)), scratch_floats_(round_up(kernels_.scratch_floats(cut_))) {}

  int64_t workspace_bytes() const override { return threads_ * scratch_floats_ * static_cast<int64_t>(sizeof(float)); }

 protected:
  void multiply(const void* left, const void* right, const void* bias, void* c, std::byte* workspace) const {
    TileProduct p = product_;
    p.left = static_cast<const float*>(left);
    p.right = static_cast<const float*>(right);
    p.bias = static_cast<const float*>(bias);
    p.c = static_cast<float*>(c);
    float* scratch = reinterpret_cast<float*>(workspace);
    parallel_for(
        threads_, p.columns,
        [&](int64_t begin, int64_t end, int part) {
          kernels_.multiply(p, cut_, begin, end, scratch + part * scratch_floats_);
        },
        kernels_.panel_columns);
  }

 private:
  static int64_t round_up(int64_t floats) { return divide_up(floats, 16) * 16; }  // to cache lines

  const TileKernels& kernels_ = kernels();
  const TileProduct product_;
  const int threads_;
  const TileCut cut_;
  const int64_t scratch_floats_;
};

class MatmulTiles : public TilesKernel {
 public:
  using TilesKernel::TilesKernel;
  void run(const KernelArgs& args) const override {
    const void* bias = args.inputs.size() > 2 ? args.inputs[2] : nullptr;
    multiply(args.inputs[0], args.inputs[1], bias, args.outputs[0], args.workspace);
  }
};

class GradInputTiles : public TilesKernel {
 public:
  using TilesKernel::TilesKernel;
  void run(const KernelArgs& args) const override {
    multiply(args.inputs[0], args.inputs[1], nullptr, args.outputs[0], args.workspace);
  }
};

// dw as [N,K] = dz^T x, or as [K,N] = x^T dz.
class GradWeightTiles : public TilesKernel {
 public:
  GradWeightTiles(const TileProduct& p, int threads, bool transpose_w)
      : TilesKernel(p, threads), transpose_w_(transpose_w) {}
  void run(const KernelArgs& args) const override {
    const void *x = args.inputs[0], *dz = args.inputs[1];
    multiply(transpose_w_ ? dz : x, transpose_w_ ? x : dz, nullptr, args.outputs[0], args.workspace);
  }

 private:
  const bool transpose_w_;
};

bool refuse(std::string& why_not, std::string reason) {
  why_not = std::move(reason);
  return false;
}

// Threads take whole panels; at most an eighth of their time may pass idle.
bool panels_fill_threads(int64_t columns, int threads, std::string& why_not) {
  const int64_t panel = kernels().panel_columns;
  const int64_t busiest = divide_up(divide_up(columns, panel), threads) * panel;
  if (busiest * threads * 7 <= columns * 8) return true;
  return refuse(why_not, "panels of " + std::to_string(panel) + " of " + std::to_string(columns) +
                             " columns leave some of " + std::to_string(threads) + " threads idle");
}

// For a product with the weight, read in rows of `columns`.
bool weight_pays(int64_t rows, int64_t terms, int64_t columns, std::string& why_not) {
  if (rows < kLeastRows) return refuse(why_not, "oneDNN is faster below " + std::to_string(kLeastRows) + " rows");
  if (terms >= kLeastTerms || columns % kPageFloats == 0) return true;
  return refuse(why_not, "oneDNN is as fast for sums of fewer than " + std::to_string(kLeastTerms) + " terms");
}

}  // namespace

std::unique_ptr<Kernel> make_matmul_tiles(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const MatmulShape s = matmul_shape(request.call);
  if (s.transpose_w) why_not = "oneDNN is faster where the weight is [N,K]";
  if (request.call.attributes.text_or("activation", "none") != "none") why_not = "takes no activation";
  if (!why_not.empty() || !weight_pays(s.rows, s.in, s.out, why_not)) return nullptr;
  if (!panels_fill_threads(s.out, request.threads, why_not)) return nullptr;
  return std::make_unique<MatmulTiles>(TileProduct{.rows = s.rows, .columns = s.out, .depth = s.in}, request.threads);
}

std::unique_ptr<Kernel> make_grad_input_tiles(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const MatmulShape s = matmul_grad_input_shape(request.call);
  if (!s.transpose_w) why_not = "oneDNN is faster where the weight is [K,N]";
  if (!why_not.empty() || !weight_pays(s.rows, s.out, s.in, why_not)) return nullptr;
  if (!panels_fill_threads(s.in, request.threads, why_not)) return nullptr;
  const TileProduct p{.rows = s.rows, .columns = s.in, .depth = s.out, .accumulate = request.call.has(2)};
  return std::make_unique<GradInputTiles>(p, request.threads);
}

std::unique_ptr<Kernel> make_grad_weight_tiles(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const MatmulShape s = matmul_grad_weight_shape(request.call);
  if (!request.call.has(2)) why_not = "oneDNN is faster where nothing is accumulated";
  if (s.rows > kMostSummedRows) why_not = "oneDNN is as fast beyond " + std::to_string(kMostSummedRows) + " rows";
  const TileProduct p{.rows = s.transpose_w ? s.out : s.in,
                      .columns = s.transpose_w ? s.in : s.out,
                      .depth = s.rows,
                      .left_transposed = true,
                      .accumulate = true};
  if (!why_not.empty() || !panels_fill_threads(p.columns, request.threads, why_not)) return nullptr;
  return std::make_unique<GradWeightTiles>(p, request.threads, s.transpose_w);
}

}  // namespace tidemark::ops
