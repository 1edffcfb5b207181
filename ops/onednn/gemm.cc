#include "ops/onednn/gemm.h"

namespace tidemark::ops::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

// Note [Page-strided rows]
// oneDNN 2.6 reads a plain [k, n] matrix B in place, in panels of 64 columns. When a row is a multiple of 4 KiB long,
// the rows of a panel fall into the same few cache sets and the panel does not stay in the first-level cache: 210
// instead of 245 GFLOP/s a core (Zen 5, m = 768, n = 3072, k = 256). A [n, k] matrix does not suffer, as oneDNN copies
// it panel by panel. So B is first reordered into the layout that oneDNN would choose. That costs one pass over B and
// pays only where there are many rows of A to use it: with 256 rows it is a loss, with 768 a gain.
constexpr int64_t kPageBytes = 4096;
constexpr int64_t kRowsThatPayForPacking = 512;
constexpr int64_t kPanelColumns = 64;

bool packing_pays(const GemmShape& s) {
  const int64_t row_bytes = s.n * static_cast<int64_t>(sizeof(float));
  return !s.b_transposed && s.n > kPanelColumns && row_bytes % kPageBytes == 0 && s.m >= kRowsThatPayForPacking;
}

dnnl::primitive_attr attributes_of(const GemmShape& shape) {
  dnnl::post_ops post_ops;
  if (shape.accumulate) post_ops.append_sum(1.0f);
  if (shape.relu) post_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes = strict_attributes();
  attributes.set_post_ops(post_ops);
  return attributes;
}

}  // namespace

Gemm::Gemm(const GemmShape& shape, int threads) : shape_(shape), threads_(threads) {
  const ThreadScope scope(threads);
  const auto a = plain_desc({shape.m, shape.k}, shape.a_transposed ? Tag::ba : Tag::ab);
  const auto b = plain_desc({shape.k, shape.n}, shape.b_transposed ? Tag::ba : Tag::ab);
  const auto c = plain_desc({shape.m, shape.n}, Tag::ab);
  const auto bias = plain_desc({1, shape.n}, Tag::ab);
  const auto b_wanted = packing_pays(shape) ? plain_desc({shape.k, shape.n}, Tag::any) : b;

  const dnnl::matmul::desc desc =
      shape.bias ? dnnl::matmul::desc(a, b_wanted, bias, c) : dnnl::matmul::desc(a, b_wanted, c);
  const dnnl::matmul::primitive_desc primitive_desc(desc, attributes_of(shape), device_.engine);
  implementation_ = primitive_desc.impl_info_str();

  std::vector<BoundPrimitive::Argument> arguments = {{DNNL_ARG_SRC, a},
                                                     {DNNL_ARG_WEIGHTS, primitive_desc.weights_desc()},
                                                     {DNNL_ARG_DST, c},
                                                     {DNNL_ARG_SCRATCHPAD, primitive_desc.scratchpad_desc()}};
  if (shape.bias) arguments.push_back({DNNL_ARG_BIAS, bias});
  matmul_ = BoundPrimitive(device_, dnnl::matmul(primitive_desc), arguments);
  scratchpad_ = book_.add(static_cast<int64_t>(primitive_desc.scratchpad_desc().get_size()));

  if (primitive_desc.weights_desc() == b) return;
  pack_b_ = make_reorder(device_, b, primitive_desc.weights_desc());
  packed_b_ = book_.add(static_cast<int64_t>(primitive_desc.weights_desc().get_size()));
  pack_scratchpad_ = book_.add(pack_b_.scratchpad_bytes);
}

void Gemm::run(const void* a, const void* b, const void* bias, void* c, std::byte* workspace) const {
  const ThreadScope scope(threads_);
  if (packs_b()) {
    pack_b_.run(b, workspace + packed_b_, workspace + pack_scratchpad_);
    b = workspace + packed_b_;
  }
  matmul_.set(DNNL_ARG_SRC, a);
  matmul_.set(DNNL_ARG_WEIGHTS, b);
  if (shape_.bias) matmul_.set(DNNL_ARG_BIAS, bias);
  matmul_.set(DNNL_ARG_DST, c);
  matmul_.set(DNNL_ARG_SCRATCHPAD, workspace + scratchpad_);
  matmul_.run();
}

}  // namespace tidemark::ops::onednn
