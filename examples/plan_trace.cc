// Offsets for a trace in CSV (id,lower,upper,size): the memory library alone, without graphs or tensors.
//
//   bazel run //examples:plan_trace -- FILE.csv [PLANNER]
#include <cstdio>
#include <exception>

#include "base/bytes.h"
#include "memory/arena/offset_planner.h"
#include "memory/trace/trace_csv.h"

using namespace tidemark;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: plan_trace FILE.csv [PLANNER]\n");
    return 2;
  }
  try {
    const memory::Trace trace = memory::read_csv_file(argv[1]);
    const auto planner = memory::make_offset_planner(argc > 2 ? argv[2] : "portfolio");
    const memory::OffsetPlan plan = planner->minimize(trace, {});
    const std::string fault = memory::find_plan_fault(trace, plan);
    if (!fault.empty()) {
      std::fprintf(stderr, "plan_trace: the plan is wrong: %s\n", fault.c_str());
      return 1;
    }
    std::printf("%zu buffers, peak %s, lower bound %s%s\n", trace.buffers.size(), format_bytes(plan.peak_bytes).c_str(),
                format_bytes(plan.lower_bound_bytes).c_str(), plan.proven_optimal ? ", proven optimal" : "");
    for (size_t i = 0; i < trace.buffers.size(); ++i)
      std::printf("%lld,%lld\n", static_cast<long long>(trace.buffers[i].id), static_cast<long long>(plan.offsets[i]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plan_trace: %s\n", error.what());
    return 1;
  }
}
