// The safetensors format: 8 bytes of header length, little-endian; a JSON header with dtype, shape and byte range of
// every tensor; their bytes, without gaps. https://github.com/huggingface/safetensors, section "Format".
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/checkpoint/input_file.h"
#include "graph/types.h"

namespace tidemark::checkpoint {

// A tensor to save; the bytes stay where they are.
struct TensorView {
  std::string name;
  ValueType type;
  std::span<const std::byte> bytes;  // type.bytes() of them
};

// Hands the file's bytes to `write` in order, in pieces of at most 1 MiB. Names must differ.
void write_safetensors(std::span<const TensorView> tensors,
                       const std::function<void(std::span<const std::byte>)>& write);

// A tensor of a file.
struct StoredTensor {
  std::string name;
  ValueType type;
  int64_t offset = 0;  // in the file
};

// Reads the header. Nothing in it is trusted: Error(data) names file and offset or tensor if the header is cut, no
// JSON, has an unknown dtype, a wrong shape, a range that does not fit its type or the file, or gaps, overlaps or bytes
// left over.
std::vector<StoredTensor> read_safetensors_header(const InputFile& file);

}  // namespace tidemark::checkpoint
