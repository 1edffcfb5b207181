#include "ops/onednn/primitive.h"

#include <omp.h>

#include "base/error.h"

namespace tidemark::ops::onednn {

namespace {

// oneDNN keeps the code that it compiled for a shape, of 1,024 primitives unless told otherwise: some 80 MiB on the
// host where shapes change all the time. More than a net has of different ones is of no use.
constexpr int kCachedPrimitives = 128;

void bound_primitive_cache() {
  if (dnnl::get_primitive_cache_capacity() > kCachedPrimitives) dnnl::set_primitive_cache_capacity(kCachedPrimitives);
}

}  // namespace

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }

ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

dnnl::primitive_attr strict_attributes() {
  bound_primitive_cache();  // every primitive is made with these
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // whatever ONEDNN_DEFAULT_FPMATH_MODE says
  return attributes;
}

dnnl::memory::desc plain_desc(const std::vector<int64_t>& dims, dnnl::memory::format_tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

bool allocates_buffers(std::string_view implementation) {
  // "gemm:jit" and "x64:gemm:jit", not "brgemm:avx512_core".
  const size_t at = implementation.find("gemm:");
  return at != std::string_view::npos && (at == 0 || implementation[at - 1] == ':');
}

BoundPrimitive::BoundPrimitive(const Device& device, const dnnl::primitive& primitive,
                               const std::vector<Argument>& arguments)
    : primitive_(primitive), stream_(device.stream) {
  for (const Argument& argument : arguments) {
    if (argument.desc.get_size() == 0) continue;  // an empty scratchpad
    memories_.emplace_back(argument.desc, device.engine, nullptr);
    arguments_.push_back({argument.index, memories_.back().get()});
  }
}

void BoundPrimitive::set(int index, const void* pointer) const {
  for (const dnnl_exec_arg_t& argument : arguments_) {
    if (argument.arg != index) continue;
    // oneDNN has no read-only memory objects; it writes to outputs alone.
    dnnl_memory_set_data_handle(argument.memory, const_cast<void*>(pointer));
    return;
  }
  // A scratchpad of no bytes has no argument.
  TM_CHECK(index == DNNL_ARG_SCRATCHPAD, "primitive has no argument " + std::to_string(index));
}

void BoundPrimitive::run() const {
  // The C++ wrapper builds a map and a vector in every call; the C function takes the table that is already there.
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status == dnnl_out_of_memory) {
    throw Error(ErrorCode::out_of_memory, "oneDNN could not get memory while running a primitive");
  }
  TM_CHECK(status == dnnl_success, "oneDNN execution ended with status " + std::to_string(status));
}

void BoundReorder::run(const void* from, void* to, void* scratchpad) const {
  primitive.set(DNNL_ARG_FROM, from);
  primitive.set(DNNL_ARG_TO, to);
  primitive.set(DNNL_ARG_SCRATCHPAD, scratchpad);
  primitive.run();
}

BoundReorder make_reorder(const Device& device, const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                          bool accumulate) {
  dnnl::primitive_attr attributes = strict_attributes();
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const dnnl::reorder::primitive_desc desc(device.engine, from, device.engine, to, attributes);
  const dnnl::memory::desc scratchpad = desc.scratchpad_desc();
  return {BoundPrimitive(device, dnnl::reorder(desc),
                         {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratchpad}}),
          static_cast<int64_t>(scratchpad.get_size())};
}

std::unique_ptr<Kernel> make_or_refuse(const std::function<std::unique_ptr<Kernel>()>& make, std::string& why_not) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    why_not = std::string("oneDNN: ") + error.what();
    return nullptr;
  }
}

}  // namespace tidemark::ops::onednn
