#include "graph/types.h"

#include "base/error.h"

namespace tidemark {
namespace {

constexpr std::string_view kDTypeNames[] = {"f32", "bf16", "i32", "u8"};
constexpr int64_t kDTypeBytes[] = {4, 2, 4, 1};

}  // namespace

int64_t size_bytes(DType dtype) { return kDTypeBytes[static_cast<size_t>(dtype)]; }

std::string_view to_string(DType dtype) { return kDTypeNames[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_string(std::string_view name) {
  for (size_t i = 0; i < std::size(kDTypeNames); ++i) {
    if (kDTypeNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int64_t Shape::dim(int i) const {
  const int rank = static_cast<int>(dims_.size());
  const int index = i < 0 ? rank + i : i;
  TM_CHECK(index >= 0 && index < rank, "dimension " + std::to_string(i) + " of shape " + to_string(*this));
  return dims_[static_cast<size_t>(index)];
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int64_t dim : dims_) {
    if (__builtin_mul_overflow(product, dim, &product)) {
      throw Error(ErrorCode::config, "shape " + to_string(*this) + " has more elements than 63 bits can count");
    }
  }
  return product;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ",";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

int64_t ValueType::bytes() const {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(size_bytes(dtype), shape.elements(), &bytes)) {
    throw Error(ErrorCode::config, "a value of type " + to_string(*this) + " has more bytes than 63 bits can count");
  }
  return bytes;
}

std::string to_string(const ValueType& type) { return std::string(to_string(type.dtype)) + to_string(type.shape); }

}  // namespace tidemark
