#include "tests/integration/differences.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/philox.h"

namespace tidemark::tests {
namespace {

std::vector<float> copy(const std::byte* bytes, const ValueType& type) {
  std::vector<float> values(static_cast<size_t>(type.shape.elements()));
  std::memcpy(values.data(), bytes, values.size() * sizeof(float));
  return values;
}

float moved(float value, uint32_t bits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (bits % 3 == 0) return value;
  return std::nextafterf(value, bits % 3 == 1 ? kInfinity : -kInfinity);
}

}  // namespace

Tensors gradients(TinyRun& tiny) {
  Tensors tensors;
  for (const compile::Tensor& t : tiny.program().step)
    if (t.category == Category::gradients) tensors[t.name] = copy(tiny.run().executor().address(t), t.type);
  TM_CHECK(!tensors.empty(), "gradients that outlive a micro-batch");
  return tensors;
}

Tensors persistent(TinyRun& tiny, Category category) {
  Tensors tensors;
  for (const auto& p : tiny.trainer().persistent())
    if (p.tensor->category == category && p.tensor->type.dtype == DType::f32)
      tensors[p.tensor->name] = copy(p.bytes.data(), p.tensor->type);
  return tensors;
}

double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  TM_CHECK(a.size() == b.size(), "tensors of one shape");
  double distance = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    distance += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return distance == 0 ? 0 : std::sqrt(distance / norm);
}

double rms_difference(const std::vector<double>& a, const std::vector<double>& b) {
  TM_CHECK(a.size() == b.size() && !a.empty(), "runs of one length");
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

void move_weights_by_one_ulp(TinyRun& tiny, uint64_t seed) {
  uint32_t tensor = 0;
  for (const auto& p : tiny.trainer().persistent()) {
    if (p.tensor->category != Category::weights) continue;
    auto* values = reinterpret_cast<float*>(p.bytes.data());
    ++tensor;
    for (int64_t i = 0; i < p.tensor->type.shape.elements(); ++i) {
      const RandomSite site{.seed = seed, .step = 0, .sample = tensor, .op = 0};
      values[i] = moved(values[i], random_block(site, static_cast<uint32_t>(i)).word[0]);
    }
  }
}

}  // namespace tidemark::tests
