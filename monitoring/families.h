// A snapshot of the counters in the form that prometheus-cpp writes out.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "base/counters.h"

namespace tidemark::monitoring {

// One family a metric, in the snapshot's order; histogram buckets become cumulative, with one for +Inf.
std::vector<prometheus::MetricFamily> to_families(const std::vector<MetricSnapshot>& snapshot);

}  // namespace tidemark::monitoring
