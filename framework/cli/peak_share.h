// `plan --budget 50%peak`: a share of the peak that the plan has without recomputation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::cli {

// The share of "50%peak" or "50% peak", in (0, 1]; nothing for a text that does not end with "peak". Throws
// Error(config) if what stands before that is no share.
std::optional<double> parse_peak_share(std::string_view text);

// That share in bytes: whole pages, rounded down, but one.
int64_t peak_share_bytes(double share, int64_t peak_bytes, int64_t page_bytes);

}  // namespace tidemark::cli
