// C = op(A) op(B) (+ bias, ReLU) or C += op(A) op(B) on dense row-major f32 matrices, through oneDNN's matmul.
#pragma once

#include <optional>

#include "ops/onednn/primitive.h"

namespace tidemark::ops::onednn {

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false;  // A lies as [k, m] instead of [m, k]
  bool b_transposed = false;  // B lies as [n, k] instead of [k, n]
  bool accumulate = false;    // adds onto C
  bool bias = false;          // adds bias[n] to every row
  bool relu = false;          // last of all
};

class Gemm {
 public:
  // Throws dnnl::error for what oneDNN does not take.
  Gemm(const GemmShape& shape, int threads);

  int64_t workspace_bytes() const { return book_.bytes(); }
  // `bias` is read where the shape has one. The workspace is 64-byte aligned.
  void run(const void* a, const void* b, const void* bias, void* c, std::byte* workspace) const;

  const std::string& implementation() const { return implementation_; }  // as oneDNN names it
  bool packs_b() const { return pack_b_.primitive.valid(); }             // Note [Page-strided rows] in gemm.cc

 private:
  GemmShape shape_;
  int threads_;
  Device device_;
  BoundPrimitive matmul_;
  BoundReorder pack_b_;
  WorkspaceBook book_;
  int64_t scratchpad_ = 0, packed_b_ = 0, pack_scratchpad_ = 0;  // offsets in the workspace
  std::string implementation_;
};

}  // namespace tidemark::ops::onednn
