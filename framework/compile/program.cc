#include "framework/compile/program.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace tidemark::compile {
namespace {

const Tensor& find_tensor(const std::vector<Tensor>& tensors, std::string_view name, const std::string& where) {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  TM_CHECK(found != tensors.end(), "no tensor '" + std::string(name) + "' among " + where);
  return *found;
}

bool lives_at(const memory::Buffer& buffer, int64_t step) {
  return std::ranges::any_of(buffer.intervals, [&](auto& i) { return i.begin <= step && step < i.end; });
}

}  // namespace

const Tensor& Body::external(std::string_view name) const {
  return find_tensor(externals, name, "the inputs of body '" + this->name + "'");
}

const Tensor& Body::result(std::string_view name) const {
  return find_tensor(results, name, "the results of body '" + this->name + "'");
}

const Body* Program::find_body(std::string_view wanted) const {
  const auto found = std::ranges::find(bodies, wanted, &Body::name);
  return found == bodies.end() ? nullptr : &*found;
}

const Body& Program::body(std::string_view wanted) const {
  const Body* found = find_body(wanted);
  TM_CHECK(found != nullptr, "program '" + name + "' has no body '" + std::string(wanted) + "'");
  return *found;
}

const Tensor& Program::persistent_tensor(std::string_view wanted) const {
  return find_tensor(persistent, wanted, "the persistent tensors of '" + name + "'");
}

size_t peak_instruction_of(const Body& body) {
  const auto total = [](const CategoryBytes& bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); };
  return static_cast<size_t>(std::ranges::max_element(body.live, {}, total) - body.live.begin());
}

void Program::set_peak_body(size_t body) {
  peak_body = body;
  peak_instruction = peak_instruction_of(bodies[body]);
  peak_categories = bodies[body].live[peak_instruction];
}

std::vector<PeakTensor> Program::tensors_at_peak(size_t count) const {
  return tensors_at_peak(bodies[peak_body], count);
}

std::vector<PeakTensor> Program::tensors_at_peak(const Body& body, size_t count) const {
  const auto at = static_cast<int64_t>(peak_instruction_of(body));
  std::vector<PeakTensor> tensors;
  for (const Tensor& t : persistent) tensors.push_back({t.name, t.bytes(), t.category});
  if (body.shares_step_segment)
    for (const Tensor& t : step) tensors.push_back({t.name, t.bytes(), t.category});
  for (size_t i = 0; i < body.trace.buffers.size(); ++i)
    if (const memory::Buffer& b = body.trace.buffers[i]; lives_at(b, at))
      tensors.push_back({body.buffer_names[i], b.bytes, b.category});
  std::ranges::stable_sort(tensors, std::greater<>{}, &PeakTensor::bytes);
  tensors.resize(std::min(count, tensors.size()));
  return tensors;
}

}  // namespace tidemark::compile
