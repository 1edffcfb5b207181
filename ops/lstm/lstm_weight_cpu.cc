// The gradient of the recurrent weight: one product over the rows of all steps but the first, whose left operand is
// contiguous (dx from row `batch` on) and whose right one, the h of the step before, is gathered a chunk at a time.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/lstm/lstm_kernels.h"
#include "ops/lstm/packed_steps.h"
#include "ops/matmul/tiles.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/simd/workspace_floats.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

constexpr int64_t kChunkRows = 512;
constexpr int64_t kGroupFloats = 100'000;  // panels of h: less than half of a second-level cache of 1 MiB

// Copies what lies one step before rows [first, first + count) to `to`, which holds `count` rows.
void gather_before(const PackedLengths& lengths, const float* h, int64_t hidden, int64_t first, int64_t count,
                   float* to) {
  lengths.for_each_step([&](const PackedStep& s) {
    const int64_t begin = std::max(first, s.first_row), end = std::min(first + count, s.first_row + s.samples);
    if (s.step == 0 || begin >= end) return;
    std::memcpy(to + (begin - first) * hidden, h + (begin - s.before) * hidden,
                static_cast<size_t>((end - begin) * hidden) * sizeof(float));
  });
}

class LstmGradWeightCpu : public Kernel {
 public:
  LstmGradWeightCpu(const OpCall& call, int threads)
      : rows_(call.input(0).shape[0]),
        hidden_(call.input(0).shape[1]),
        batch_(call.input(2).shape[0]),
        chunk_(std::clamp<int64_t>(rows_ - batch_, 1, kChunkRows)),
        accumulates_(call.has(3)),
        threads_(useful_threads(threads, rows_ * 4 * hidden_)) {
    cut_ = {.depth_block = chunk_,
            .group_panels = std::max<int64_t>(1, kGroupFloats / (chunk_ * kernels_.panel_columns))};
    gathered_ = book_.add(chunk_ * hidden_);
    for (int i = 0; i < threads_; ++i) {
      const int64_t offset = book_.add(kernels_.scratch_floats(cut_));
      if (i == 0) scratch_ = offset;
      if (i == 1) scratch_floats_ = offset - scratch_;
    }
  }

  int64_t workspace_bytes() const override { return book_.bytes(); }

  void run(const KernelArgs& args) const override {
    const PackedLengths lengths{static_cast<const int32_t*>(args.inputs[2]), batch_, rows_};
    lengths.check();
    const float* h = static_cast<const float*>(args.inputs[0]);
    const float* dx = static_cast<const float*>(args.inputs[1]);
    float* dw = static_cast<float*>(args.outputs[0]);
    if (rows_ == batch_ && !accumulates_)
      std::memset(dw, 0, static_cast<size_t>(4 * hidden_ * hidden_) * sizeof(float));
    float* gathered = WorkspaceFloats::at(args.workspace, gathered_);
    for (int64_t first = batch_; first < rows_; first += chunk_) {
      const int64_t count = std::min(chunk_, rows_ - first);
      parallel_for(threads_, count, [&](int64_t begin, int64_t end, int) {
        gather_before(lengths, h, hidden_, first + begin, end - begin, gathered + begin * hidden_);
      });
      const TileProduct product{.rows = 4 * hidden_,
                                .columns = hidden_,
                                .depth = count,
                                .left = dx + first * 4 * hidden_,
                                .left_transposed = true,
                                .right = gathered,
                                .c = dw,
                                .accumulate = accumulates_ || first > batch_};
      multiply(product, WorkspaceFloats::at(args.workspace, scratch_));
    }
  }

 private:
  void multiply(const TileProduct& product, float* scratch) const {
    parallel_for(
        threads_, hidden_,
        [&](int64_t begin, int64_t end, int part) {
          kernels_.multiply(product, cut_, begin, end, scratch + part * scratch_floats_);
        },
        kernels_.panel_columns);
  }

  const TileKernels& kernels_ = *simd_choice(&isa_v2::kTileKernels, &isa_v3::kTileKernels, &isa_v4::kTileKernels);
  const int64_t rows_, hidden_, batch_, chunk_;
  const bool accumulates_;
  const int threads_;
  TileCut cut_;
  WorkspaceFloats book_;
  int64_t gathered_ = 0, scratch_ = 0, scratch_floats_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_lstm_grad_weight_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<LstmGradWeightCpu>(request.call, request.threads);
}

}  // namespace tidemark::ops
