// Note [Samples to threads]
// Steps depend on each other, samples do not. Each thread takes blocks of samples through all steps, so that threads
// meet twice in a kernel and not at every step. The samples are ordered by length: blocks go round the threads, else
// the one with the first half would do most of the work. Every row's sums are its own, so the bits do not hang on the
// number of threads.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/lstm/lstm_kernels.h"
#include "ops/lstm/lstm_simd.h"
#include "ops/lstm/packed_steps.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/simd/workspace_floats.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

int64_t panels_of(int64_t units, int64_t panel_units) { return (units + panel_units - 1) / panel_units; }

// Panels [begin, end) of w [4H][H] as [panel][k][gate][unit]; units past the last are zero.
void pack_forward(const float* w, int64_t hidden, int64_t begin, int64_t end, float* panels) {
  constexpr int64_t kDepthBlock = 64;  // what is written stays in the first-level cache
  for (int64_t panel = begin; panel < end; ++panel) {
    float* to = panels + panel * hidden * kLstmPanel;
    for (int64_t depth = 0; depth < hidden; depth += kDepthBlock) {
      const int64_t last = std::min(depth + kDepthBlock, hidden);
      for (int64_t column = 0; column < kLstmPanel; ++column) {
        const int64_t unit = panel * kLstmPanelUnits + column % kLstmPanelUnits;
        const float* from = unit < hidden ? w + (column / kLstmPanelUnits * hidden + unit) * hidden : nullptr;
        for (int64_t k = depth; k < last; ++k) to[k * kLstmPanel + column] = from ? from[k] : 0.0f;
      }
    }
  }
}

// Panels [begin, end) of w [4H][H] as [panel][row of w][unit].
void pack_backward(const float* w, int64_t hidden, int64_t begin, int64_t end, float* panels) {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t unit = panel * kLstmPanel, units = std::min(kLstmPanel, hidden - unit);
    float* to = panels + panel * 4 * hidden * kLstmPanel;
    for (int64_t row = 0; row < 4 * hidden; ++row, to += kLstmPanel) {
      std::memcpy(to, w + row * hidden + unit, static_cast<size_t>(units) * sizeof(float));
      std::fill(to + units, to + kLstmPanel, 0.0f);
    }
  }
}

class LstmKernel : public Kernel {
 public:
  int64_t workspace_bytes() const override { return book_.bytes(); }

 protected:
  LstmKernel(const Shape& gates, const Shape& lengths, int threads)
      : rows_(gates[0]),
        hidden_(gates[1] / 4),
        batch_(lengths[0]),
        threads_(useful_threads(threads, rows_ * 4 * hidden_)) {}

  PackedLengths packed(const void* lengths) const {
    const PackedLengths result{static_cast<const int32_t*>(lengths), batch_, rows_};
    result.check();
    return result;
  }

  // Calls body(part) for every part.
  template <class Body>
  void for_each_part(Body body) const {
    parallel_for(threads_, threads_, [&](int64_t begin, int64_t, int) { body(static_cast<int>(begin)); });
  }

  const int64_t rows_, hidden_, batch_;
  const int threads_;
  WorkspaceFloats book_;
};

class LstmForwardCpu : public LstmKernel {
 public:
  LstmForwardCpu(const OpCall& call, int threads) : LstmKernel(call.input(0).shape, call.input(2).shape, threads) {
    panels_ = book_.add(panel_count_ * hidden_ * kLstmPanel);
  }

  void run(const KernelArgs& args) const override {
    const PackedLengths lengths = packed(args.inputs[2]);
    const float* x = static_cast<const float*>(args.inputs[0]);
    const float* w = static_cast<const float*>(args.inputs[1]);
    float* h = static_cast<float*>(args.outputs[0]);
    float* gates = static_cast<float*>(args.outputs[1]);
    float* cells = static_cast<float*>(args.outputs[2]);
    float* panels = WorkspaceFloats::at(args.workspace, panels_);
    if (lengths.lengths[0] > 1) {
      parallel_for(threads_, panel_count_,
                   [&](int64_t begin, int64_t end, int) { pack_forward(w, hidden_, begin, end, panels); });
    }
    for_each_part([&](int part) {
      lengths.for_each_step([&](const PackedStep& s) {
        const int64_t at = s.first_row * hidden_, before = s.before * hidden_;
        step_({.hidden = hidden_,
               .rows = s.samples,
               .part = part,
               .parts = threads_,
               .x = x + 4 * at,
               .h_before = s.step > 0 ? h + at - before : nullptr,
               .c_before = s.step > 0 ? cells + at - before : nullptr,
               .panels = panels,
               .gates = gates + 4 * at,
               .cells = cells + at,
               .h = h + at});
      });
    });
  }

 private:
  const int64_t panel_count_ = panels_of(hidden_, kLstmPanelUnits);
  int64_t panels_ = 0;
  decltype(&isa_v2::lstm_forward_step) step_ = TM_SIMD_CHOICE(lstm_forward_step);
};

class LstmBackwardCpu : public LstmKernel {
 public:
  LstmBackwardCpu(const OpCall& call, int threads) : LstmKernel(call.input(1).shape, call.input(4).shape, threads) {
    panels_ = book_.add(panel_count_ * 4 * hidden_ * kLstmPanel);
    carry_h_ = book_.add(batch_ * hidden_);
    carry_c_ = book_.add(batch_ * hidden_);
  }

  void run(const KernelArgs& args) const override {
    const PackedLengths lengths = packed(args.inputs[4]);
    const float* dh = static_cast<const float*>(args.inputs[0]);
    const float* gates = static_cast<const float*>(args.inputs[1]);
    const float* cells = static_cast<const float*>(args.inputs[2]);
    const float* w = static_cast<const float*>(args.inputs[3]);
    float* dx = static_cast<float*>(args.outputs[0]);
    float* panels = WorkspaceFloats::at(args.workspace, panels_);
    if (lengths.lengths[0] > 1) {
      parallel_for(threads_, panel_count_,
                   [&](int64_t begin, int64_t end, int) { pack_backward(w, hidden_, begin, end, panels); });
    }
    for_each_part([&](int part) {
      lengths.for_each_step_backwards([&](const PackedStep& s) {
        const int64_t at = s.first_row * hidden_;
        step_({.hidden = hidden_,
               .rows = s.samples,
               .rows_after = s.after,
               .part = part,
               .parts = threads_,
               .dh = dh + at,
               .gates = gates + 4 * at,
               .cells = cells + at,
               .c_before = s.step > 0 ? cells + at - s.before * hidden_ : nullptr,
               .panels = panels,
               .dx = dx + 4 * at,
               .carry_h = WorkspaceFloats::at(args.workspace, carry_h_),
               .carry_c = WorkspaceFloats::at(args.workspace, carry_c_)});
      });
    });
  }

 private:
  const int64_t panel_count_ = panels_of(hidden_, kLstmPanel);
  int64_t panels_ = 0, carry_h_ = 0, carry_c_ = 0;
  decltype(&isa_v2::lstm_backward_step) step_ = TM_SIMD_CHOICE(lstm_backward_step);
};

template <class LstmKernelOf>
std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<LstmKernelOf>(request.call, request.threads);
}

}  // namespace

std::unique_ptr<Kernel> make_lstm_cpu(const KernelRequest& request, std::string& why_not) {
  return make<LstmForwardCpu>(request, why_not);
}

std::unique_ptr<Kernel> make_lstm_grad_cpu(const KernelRequest& request, std::string& why_not) {
  return make<LstmBackwardCpu>(request, why_not);
}

}  // namespace tidemark::ops
