#include "memory/arena/component.h"

#include <algorithm>

namespace tidemark::memory {

std::vector<Component> split_in_time(const SectionedTrace& trace) {
  // crossing[s]: buffers whose lifetime goes over the begin of section s.
  std::vector<int32_t> crossing(trace.section_count + 1, 0);
  for (const SectionedBuffer& buffer : trace.buffers) {
    const SectionSpan hull = trace.hull_of(buffer);
    ++crossing[hull.begin + 1];
    --crossing[hull.end];
  }
  std::vector<Component> components;
  std::vector<int32_t> component_of(trace.section_count);
  int32_t live = 0;
  for (int32_t section = 0; section < trace.section_count; ++section) {
    live += crossing[section];
    if (section == 0 || live == 0) components.push_back({{section, section + 1}, {}, 0, 0});
    components.back().sections.end = section + 1;
    component_of[section] = static_cast<int32_t>(components.size()) - 1;
    Component& component = components.back();
    component.lower_bound_bytes = std::max(component.lower_bound_bytes, trace.least_peak_bytes[section]);
  }
  for (size_t i = 0; i < trace.buffers.size(); ++i) {
    const SectionedBuffer& buffer = trace.buffers[i];
    Component& component = components[component_of[trace.hull_of(buffer).begin]];
    component.buffers.push_back(static_cast<int32_t>(i));
    if (!buffer.fixed_offset) continue;
    component.lower_bound_bytes = std::max(component.lower_bound_bytes, *buffer.fixed_offset + buffer.bytes);
  }
  return components;
}

}  // namespace tidemark::memory
