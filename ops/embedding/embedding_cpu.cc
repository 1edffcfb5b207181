// Passes over memory without arithmetic worth the name: rows are copied and added, and the compiler's plain loops do.
#include <cstring>

#include "base/parallel.h"
#include "ops/embedding/embedding_kernels.h"
#include "ops/op_rules.h"
#include "ops/partition.h"

namespace tidemark::ops {
namespace {

constexpr int64_t kFloat = sizeof(float);

void add_row(float* to, const float* from, int64_t count) {
#pragma GCC ivdep
  for (int64_t c = 0; c < count; ++c) to[c] += from[c];
}

void zero(float* out, int64_t count, int threads) {
  parallel_for(
      useful_threads(threads, count), count,
      [&](int64_t begin, int64_t end, int) {
        std::memset(out + begin, 0, static_cast<size_t>((end - begin) * kFloat));
      },
      kElementsPerCacheLine);
}

class EmbeddingCpu : public Kernel {
 public:
  EmbeddingCpu(const OpCall& call, int threads)
      : tokens_(call.input(0).shape.elements()),
        length_(call.input(0).shape.dim(-1)),
        columns_(call.input(1).shape[1]),
        threads_(useful_threads(threads, tokens_ * columns_)),
        has_positions_(call.has(2)) {}

  void run(const KernelArgs& args) const override {
    const int32_t* tokens = static_cast<const int32_t*>(args.inputs[0]);
    const float* table = static_cast<const float*>(args.inputs[1]);
    const float* positions = has_positions_ ? static_cast<const float*>(args.inputs[2]) : nullptr;
    float* out = static_cast<float*>(args.outputs[0]);
    parallel_for(threads_, tokens_, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(out + i * columns_, table + tokens[i] * columns_, static_cast<size_t>(columns_ * kFloat));
        if (positions) add_row(out + i * columns_, positions + i % length_ * columns_, columns_);
      }
    });
  }

 private:
  const int64_t tokens_, length_, columns_;
  const int threads_;
  const bool has_positions_;
};

// Threads share columns out, not tokens: each adds its part of every row in token order, so that two tokens with one
// row need no atomics and sums do not change with the thread count.
class EmbeddingGradCpu : public Kernel {
 public:
  EmbeddingGradCpu(const OpCall& call, int threads)
      : tokens_(call.input(0).shape.elements()),
        columns_(call.input(1).shape.dim(-1)),
        rows_(call.attributes.integer("rows")),
        threads_(threads),
        has_acc_(call.has(2)) {}

  void run(const KernelArgs& args) const override {
    const int32_t* tokens = static_cast<const int32_t*>(args.inputs[0]);
    const float* dy = static_cast<const float*>(args.inputs[1]);
    float* table = static_cast<float*>(args.outputs[0]);
    if (!has_acc_) zero(table, rows_ * columns_, threads_);
    const auto add_columns = [&](int64_t begin, int64_t end, int) {
      for (int64_t i = 0; i < tokens_; ++i) {
        add_row(table + tokens[i] * columns_ + begin, dy + i * columns_ + begin, end - begin);
      }
    };
    parallel_for(useful_threads(threads_, tokens_ * columns_), columns_, add_columns, kElementsPerCacheLine);
  }

 private:
  const int64_t tokens_, columns_, rows_;
  const int threads_;
  const bool has_acc_;
};

class PositionGradCpu : public Kernel {
 public:
  PositionGradCpu(const OpCall& call, int threads)
      : length_(call.input(0).shape.dim(-2)),
        columns_(call.input(0).shape.dim(-1)),
        sequences_(call.input(0).shape.elements() / (length_ * columns_)),
        rows_(call.attributes.integer("rows")),
        threads_(useful_threads(threads, sequences_ * length_ * columns_)),
        has_acc_(call.has(1)) {}

  void run(const KernelArgs& args) const override {
    const float* dy = static_cast<const float*>(args.inputs[0]);
    float* sum = static_cast<float*>(args.outputs[0]);
    if (!has_acc_) zero(sum, rows_ * columns_, threads_);
    parallel_for(
        threads_, length_ * columns_,
        [&](int64_t begin, int64_t end, int) {
          for (int64_t s = 0; s < sequences_; ++s) {
            add_row(sum + begin, dy + s * length_ * columns_ + begin, end - begin);
          }
        },
        kElementsPerCacheLine);
  }

 private:
  const int64_t length_, columns_, sequences_, rows_;
  const int threads_;
  const bool has_acc_;
};

template <class KernelClass>
std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<KernelClass>(request.call, request.threads);
}

}  // namespace

std::unique_ptr<Kernel> make_embedding_cpu(const KernelRequest& request, std::string& why_not) {
  return make<EmbeddingCpu>(request, why_not);
}

std::unique_ptr<Kernel> make_embedding_grad_cpu(const KernelRequest& request, std::string& why_not) {
  return make<EmbeddingGradCpu>(request, why_not);
}

std::unique_ptr<Kernel> make_position_grad_cpu(const KernelRequest& request, std::string& why_not) {
  return make<PositionGradCpu>(request, why_not);
}

}  // namespace tidemark::ops
