// oneDNN primitives as kernels need them: made once, run many times on pointers of the arena, with a fixed thread
// count.
//
// Nothing here allocates when it runs. oneDNN 2.6.3 itself makes 5 to 7 small heap allocations in every execution of a
// primitive, 260 to 350 bytes in all, freed before it returns (matmul, convolution and reorder on AVX-512; counted
// under a wrapped malloc). That they could fail is not planned for. Its older "gemm" implementations, chosen on CPUs
// below AVX-512, also allocate packing buffers of megabytes: allocates_buffers().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops::onednn {

// Sets the number of OpenMP threads of the calling thread, and restores it. oneDNN reads it when a primitive is made
// and when it runs; both must be the same.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

struct Device {
  Device() : engine(dnnl::engine::kind::cpu, 0), stream(engine) {}
  dnnl::engine engine;
  dnnl::stream stream;
};

// f32 in strict arithmetic (no bf16 or tf32 inside), scratchpad given by the caller.
dnnl::primitive_attr strict_attributes();

dnnl::memory::desc plain_desc(const std::vector<int64_t>& dims, dnnl::memory::format_tag tag);

// Whether oneDNN's implementation of this name (impl_info_str) gets buffers while it runs, and so can be refused.
bool allocates_buffers(std::string_view implementation);

// Offsets of the pieces of a kernel's workspace, each 64-byte aligned.
class WorkspaceBook {
 public:
  int64_t add(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// A primitive and the memory objects of its arguments. One thread at a time.
class BoundPrimitive {
 public:
  struct Argument {
    int index = 0;  // DNNL_ARG_...
    dnnl::memory::desc desc;
  };

  BoundPrimitive() = default;
  BoundPrimitive(const Device& device, const dnnl::primitive& primitive, const std::vector<Argument>& arguments);

  bool valid() const { return !arguments_.empty(); }
  // Where the argument lies in the next run; TM_CHECK: it is one of the arguments. In a layout with padding (blocks
  // that channels do not fill) oneDNN writes zeros to the padding now, to that of an input too.
  void set(int index, const void* pointer) const;
  // Error(out_of_memory) if oneDNN cannot get memory.
  void run() const;

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// A reorder between two layouts with its scratchpad.
struct BoundReorder {
  BoundPrimitive primitive;
  int64_t scratchpad_bytes = 0;
  void run(const void* from, void* to, void* scratchpad) const;
};
BoundReorder make_reorder(const Device& device, const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                          bool accumulate = false);

// Makes a kernel; a shape that oneDNN refuses becomes nullptr with the reason in why_not.
std::unique_ptr<Kernel> make_or_refuse(const std::function<std::unique_ptr<Kernel>()>& make, std::string& why_not);

}  // namespace tidemark::ops::onednn
