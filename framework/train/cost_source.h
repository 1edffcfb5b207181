// Where a plan's costs come from: measured on this machine and kept in a file, or estimated.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "framework/compile/costs.h"
#include "framework/compile/measured_costs.h"

namespace tidemark::train {

// What a user should know of a plan's costs.
struct CostNote {
  bool estimated = false;
  int64_t measured = 0;  // figures that were missing, or are measured again, and have been measured for this plan
  std::string file;      // which keeps them; empty: nothing does
  std::string digest;    // of all figures; empty for estimates
  std::optional<compile::CostChange> change;  // of figures that have been measured again, if that was asked for
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  virtual compile::Costs& costs() = 0;
  // Keeps what was measured and is not kept yet (Costs::prepare does it for what it measures). Here and there a cache
  // folder that cannot be written is logged only: it costs a measurement the next time. If the user named the file,
  // Error(io) is thrown.
  virtual void keep() = 0;
  virtual CostNote note() const = 0;
};

// See compile::MeasuredCosts.
struct MeasureOptions {
  std::function<void(const compile::Measuring&)> on_measuring;
  std::function<bool()> stop_if;
  bool again = false;  // what is known, too
};

// `setting`: memory.cost_file; empty for the file beside other caches of the user (without a home folder nothing is
// kept). Throws as compile::MeasuredCosts.
std::unique_ptr<CostSource> measured_costs(const std::string& setting, int threads, MeasureOptions options = {});

// FLOPs and bytes instead of measurements, for `plan --estimate`. `ops` must outlive the result.
std::unique_ptr<CostSource> estimated_costs(const OpTable& ops, int threads);

}  // namespace tidemark::train
