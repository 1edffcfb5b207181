// Dtypes, shapes and the type of a value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

enum class DType : uint8_t { f32, bf16, i32, u8 };

int64_t size_bytes(DType dtype);
std::string_view to_string(DType dtype);
std::optional<DType> dtype_from_string(std::string_view name);

// Dimensions, outermost first; images are NHWC. A scalar is [1].
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  size_t rank() const { return dims_.size(); }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t dim(int i) const;  // negative counts from the end; TM_CHECKs the range
  int64_t elements() const;  // Error(config) if 63 bits cannot count them
  const std::vector<int64_t>& dims() const { return dims_; }
  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> dims_;
};

std::string to_string(const Shape& shape);  // "[64,128,192]"

struct ValueType {
  DType dtype = DType::f32;
  Shape shape;
  int64_t bytes() const;  // Error(config) if 63 bits cannot count them
  bool operator==(const ValueType&) const = default;
};

std::string to_string(const ValueType& type);  // "f32[64,128,192]"

}  // namespace tidemark
