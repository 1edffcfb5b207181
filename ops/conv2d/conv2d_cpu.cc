// Note [Convolution layouts]
// Images are NHWC throughout; weights are in the layout that oneDNN asks for ("any"). On AVX-512 that gives its brgemm
// kernel forward and its direct ones backward. With few input channels and operands that come from memory, as in a
// step, brgemm falls behind the direct kernel (16 -> 16, 28 x 28, 3x3, 128 samples on two cores: 314 against 482
// GFLOP/s; 3 -> 16: 157 against 293; 32 -> 32, 14 x 14: 366 against 501; 64 -> 64: 471 against 484), so that is taken
// there. GFLOP/s of one Zen 5 core at 32 samples (conv2d_bench, oneDNN 2.6.3, 30 November 2026; dnnl_sgemm of large
// matrices: 250), forward / input gradient / weight gradient:
//   1 -> 16, 28 x 28, 3x3              69 / 12 / 105 (nobody wants the gradient of the images)
//   16 -> 16, 28 x 28, 3x3            242 / 218 / 257
//   16 -> 32, 28 x 28, 3x3 stride 2   124 / 201 / 166; 1x1 stride 2: 63 / 49 / 49
//   32 -> 32, 14 x 14, 3x3            239 / 229 / 176
//   32 -> 64, 14 x 14, 3x3 stride 2   126 / 179 / 119; 1x1 stride 2: 102 / 113 / 72
//   64 -> 64, 7 x 7, 3x3              242 / 233 / 181
// Each direction has its own layout, so each packs for itself. The weight gradient comes out packed and is reordered
// from the workspace.
#include <string_view>

#include "ops/conv2d/conv2d_kernels.h"
#include "ops/conv2d/conv2d_shape.h"
#include "ops/onednn/primitive.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

using onednn::BoundPrimitive;
using onednn::BoundReorder;
using onednn::plain_desc;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

// oneDNN's view of one convolution: dims in the order NCHW, whatever the layout.
struct Problem {
  explicit Problem(const Conv2dShape& s, bool with_bias)
      : shape(s),
        x(plain_desc({s.batch, s.in, s.height, s.width}, Tag::nhwc)),
        w_plain(plain_desc({s.out, s.in, s.kernel_height, s.kernel_width}, Tag::oihw)),
        w_any(plain_desc({s.out, s.in, s.kernel_height, s.kernel_width}, Tag::any)),
        y(plain_desc({s.batch, s.out, s.out_height, s.out_width}, Tag::nhwc)),
        bias(plain_desc({s.out}, Tag::x)),
        has_bias(with_bias) {}

  dnnl::memory::dims strides() const { return {shape.stride, shape.stride}; }
  dnnl::memory::dims pads() const { return {shape.pad, shape.pad}; }

  Conv2dShape shape;
  Desc x, w_plain, w_any, y, bias;
  bool has_bias;
};

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// Up to here oneDNN's direct kernel is the faster one: Note [Convolution layouts].
constexpr int64_t kFewChannels = 32;

dnnl::convolution_forward::primitive_desc forward_desc(const Problem& p, const onednn::Device& device) {
  constexpr auto kind = dnnl::prop_kind::forward_training;
  const auto desc =
      p.has_bias
          ? dnnl::convolution_forward::desc(kind, kDirect, p.x, p.w_any, p.bias, p.y, p.strides(), p.pads(), p.pads())
          : dnnl::convolution_forward::desc(kind, kDirect, p.x, p.w_any, p.y, p.strides(), p.pads(), p.pads());
  const auto first = [&] {
    return dnnl::convolution_forward::primitive_desc(desc, onednn::strict_attributes(), device.engine);
  };
  const auto is = [](const auto& chosen, std::string_view prefix) {
    return std::string_view(chosen.impl_info_str()).starts_with(prefix);
  };
  auto chosen = first();
  const bool is_pointwise = p.shape.kernel_height == 1 && p.shape.kernel_width == 1;
  if (is_pointwise || p.shape.in > kFewChannels || !is(chosen, "brgconv:")) return chosen;
  return chosen.next_impl() && is(chosen, "jit:avx512") ? chosen : first();
}

int64_t size_of(const Desc& desc) { return static_cast<int64_t>(desc.get_size()); }

// What the three directions share: a device, threads, and a scratchpad at the start of the workspace.
class Conv2dKernel : public Kernel {
 public:
  explicit Conv2dKernel(int threads) : threads_(threads) {}
  int64_t workspace_bytes() const override { return workspace_bytes_; }
  bool can_be_refused() const override { return can_be_refused_; }

 protected:
  const int threads_;
  onednn::Device device_;
  int64_t workspace_bytes_ = 0;
  bool can_be_refused_ = false;
};

// Forward and input gradient read packed weights (unless oneDNN takes them as they are).
class PackedWeightKernel : public Conv2dKernel {
 public:
  using Conv2dKernel::Conv2dKernel;

  std::vector<PackedInput> packed_inputs() const override {
    if (!pack_.primitive.valid()) return {};
    return {{.input = 1, .bytes = packed_bytes_}};
  }

  void pack(size_t, const void* plain, void* packed, std::byte* workspace) const override {
    const onednn::ThreadScope scope(threads_);
    pack_.run(plain, packed, workspace);
  }

 protected:
  // Books the workspace for the primitive's scratchpad or the reorder's, which never run at once.
  void set_layout(const Problem& problem, const Desc& wanted, const Desc& scratchpad) {
    workspace_bytes_ = size_of(scratchpad);
    if (wanted == problem.w_plain) return;
    pack_ = onednn::make_reorder(device_, problem.w_plain, wanted);
    packed_bytes_ = size_of(wanted);
    workspace_bytes_ = std::max(workspace_bytes_, pack_.scratchpad_bytes);
  }

 private:
  BoundReorder pack_;
  int64_t packed_bytes_ = 0;
};

class ForwardOneDnn : public PackedWeightKernel {
 public:
  ForwardOneDnn(const Problem& problem, int threads) : PackedWeightKernel(threads), has_bias_(problem.has_bias) {
    const onednn::ThreadScope scope(threads);
    const auto desc = forward_desc(problem, device_);
    std::vector<BoundPrimitive::Argument> arguments = {{DNNL_ARG_SRC, problem.x},
                                                       {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                                       {DNNL_ARG_DST, problem.y},
                                                       {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
    if (has_bias_) arguments.push_back({DNNL_ARG_BIAS, problem.bias});
    primitive_ = BoundPrimitive(device_, dnnl::convolution_forward(desc), arguments);
    set_layout(problem, desc.weights_desc(), desc.scratchpad_desc());
    can_be_refused_ = onednn::allocates_buffers(desc.impl_info_str());
  }

  void run(const KernelArgs& args) const override {
    const onednn::ThreadScope scope(threads_);
    primitive_.set(DNNL_ARG_SRC, args.inputs[0]);
    primitive_.set(DNNL_ARG_WEIGHTS, args.inputs[1]);
    if (has_bias_) primitive_.set(DNNL_ARG_BIAS, args.inputs[2]);
    primitive_.set(DNNL_ARG_DST, args.outputs[0]);
    primitive_.set(DNNL_ARG_SCRATCHPAD, args.workspace);
    primitive_.run();
  }

 private:
  const bool has_bias_;
  BoundPrimitive primitive_;
};

class GradInputOneDnn : public PackedWeightKernel {
 public:
  GradInputOneDnn(const Problem& problem, int threads) : PackedWeightKernel(threads) {
    const onednn::ThreadScope scope(threads);
    const dnnl::convolution_backward_data::desc direction(kDirect, problem.x, problem.w_any, problem.y,
                                                          problem.strides(), problem.pads(), problem.pads());
    const dnnl::convolution_backward_data::primitive_desc desc(direction, onednn::strict_attributes(), device_.engine,
                                                               forward_desc(problem, device_));
    primitive_ = BoundPrimitive(device_, dnnl::convolution_backward_data(desc),
                                {{DNNL_ARG_DIFF_DST, problem.y},
                                 {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                 {DNNL_ARG_DIFF_SRC, problem.x},
                                 {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}});
    set_layout(problem, desc.weights_desc(), desc.scratchpad_desc());
    can_be_refused_ = onednn::allocates_buffers(desc.impl_info_str());
  }

  void run(const KernelArgs& args) const override {
    const onednn::ThreadScope scope(threads_);
    primitive_.set(DNNL_ARG_DIFF_DST, args.inputs[0]);
    primitive_.set(DNNL_ARG_WEIGHTS, args.inputs[1]);
    primitive_.set(DNNL_ARG_DIFF_SRC, args.outputs[0]);
    primitive_.set(DNNL_ARG_SCRATCHPAD, args.workspace);
    primitive_.run();
  }

 private:
  BoundPrimitive primitive_;
};

// oneDNN 2.6.3's jit_1x1 gathers strided images into its scratchpad. For weight gradients it books the channels there
// are but walks whole blocks of 16: with several threads and fewer channels their parts overlap and the last one ends
// kilobytes behind the scratchpad. One thread stays inside. No other implementation takes these shapes.
int weight_gradient_threads(const Conv2dShape& shape, int threads) {
  constexpr int64_t kBlockChannels = 16;
  const bool strided_1x1 = shape.kernel_height == 1 && shape.kernel_width == 1 && shape.stride > 1;
  return strided_1x1 && shape.in < kBlockChannels ? 1 : threads;
}

class GradWeightOneDnn : public Conv2dKernel {
 public:
  GradWeightOneDnn(const Problem& problem, int threads, bool accumulate)
      : Conv2dKernel(weight_gradient_threads(problem.shape, threads)) {
    const onednn::ThreadScope scope(threads_);
    const dnnl::convolution_backward_weights::desc direction(kDirect, problem.x, problem.w_any, problem.y,
                                                             problem.strides(), problem.pads(), problem.pads());
    const dnnl::convolution_backward_weights::primitive_desc desc(direction, onednn::strict_attributes(),
                                                                  device_.engine, forward_desc(problem, device_));
    primitive_ = BoundPrimitive(device_, dnnl::convolution_backward_weights(desc),
                                {{DNNL_ARG_SRC, problem.x},
                                 {DNNL_ARG_DIFF_DST, problem.y},
                                 {DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc()},
                                 {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}});
    onednn::WorkspaceBook book;
    scratchpad_ = book.add(size_of(desc.scratchpad_desc()));
    if (accumulate || desc.diff_weights_desc() != problem.w_plain) {
      unpack_ = onednn::make_reorder(device_, desc.diff_weights_desc(), problem.w_plain, accumulate);
      packed_ = book.add(size_of(desc.diff_weights_desc()));
      unpack_scratchpad_ = book.add(unpack_.scratchpad_bytes);
    }
    workspace_bytes_ = book.bytes();
    can_be_refused_ = onednn::allocates_buffers(desc.impl_info_str());
  }

  void run(const KernelArgs& args) const override {
    const onednn::ThreadScope scope(threads_);
    const bool packed = unpack_.primitive.valid();
    primitive_.set(DNNL_ARG_SRC, args.inputs[0]);
    primitive_.set(DNNL_ARG_DIFF_DST, args.inputs[1]);
    primitive_.set(DNNL_ARG_DIFF_WEIGHTS, packed ? args.workspace + packed_ : args.outputs[0]);
    primitive_.set(DNNL_ARG_SCRATCHPAD, args.workspace + scratchpad_);
    primitive_.run();
    if (packed) unpack_.run(args.workspace + packed_, args.outputs[0], args.workspace + unpack_scratchpad_);
  }

 private:
  BoundPrimitive primitive_;
  BoundReorder unpack_;
  int64_t scratchpad_ = 0, packed_ = 0, unpack_scratchpad_ = 0;  // offsets in the workspace
};

std::unique_ptr<Kernel> make_forward(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const Problem problem(conv2d_shape(request.call), request.call.has(2));
  return onednn::make_or_refuse([&] { return std::make_unique<ForwardOneDnn>(problem, request.threads); }, why_not);
}

std::unique_ptr<Kernel> make_grad_input(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const Problem problem(conv2d_grad_input_shape(request.call), false);
  return onednn::make_or_refuse([&] { return std::make_unique<GradInputOneDnn>(problem, request.threads); }, why_not);
}

std::unique_ptr<Kernel> make_grad_weight(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const Problem problem(conv2d_grad_weight_shape(request.call), false);
  return onednn::make_or_refuse(
      [&] { return std::make_unique<GradWeightOneDnn>(problem, request.threads, request.call.has(2)); }, why_not);
}

}  // namespace

std::vector<KernelEntry> conv2d_kernels() { return {{"onednn:conv2d", KernelDevice::cpu, make_forward}}; }

std::vector<KernelEntry> conv2d_grad_input_kernels() {
  return {{"onednn:conv2d_grad_input", KernelDevice::cpu, make_grad_input}};
}

std::vector<KernelEntry> conv2d_grad_weight_kernels() {
  return {{"onednn:conv2d_grad_weight", KernelDevice::cpu, make_grad_weight}};
}

}  // namespace tidemark::ops
