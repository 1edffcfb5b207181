// What a program asked of an allocator, call by call, to be replayed later against any allocator.
//
// CSV form, one call a line after the header `call,id,bytes,category`:
//   alloc,17,4194304,activations
//   free,17,,
// Ids are the trace's own; one may come again after it was freed. Blocks that are never freed are allowed.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/category.h"

namespace tidemark::memory {

struct AllocatorCall {
  int64_t id = 0;
  int64_t bytes = 0;  // > 0: allocate; 0: free
  Category category = Category::user;

  bool is_free() const { return bytes == 0; }
  bool operator==(const AllocatorCall&) const = default;
};

struct CallTrace {
  std::string name;
  std::vector<AllocatorCall> calls;
};

// Throws Error(data) "NAME:LINE: ..." for a broken line, a free of what is not live, an id that is live already.
CallTrace read_call_trace(std::istream& in, const std::string& name);
// Error(io) if it cannot be opened.
CallTrace read_call_trace_file(const std::string& path);

void write_call_trace(const CallTrace& trace, std::ostream& out);

}  // namespace tidemark::memory
