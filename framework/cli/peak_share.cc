#include "framework/cli/peak_share.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"

namespace tidemark::cli {

std::optional<double> parse_peak_share(std::string_view text) {
  constexpr std::string_view kPeak = "peak";
  const size_t end = text.find_last_not_of(' ');
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  if (!text.ends_with(kPeak)) return std::nullopt;
  const std::string_view before = text.substr(0, text.size() - kPeak.size());
  if (before.find('%') == std::string_view::npos)
    throw Error(ErrorCode::config, "'" + std::string(text) + "' is no share of the peak; write 50%peak");
  return parse_byte_limit(before).share;
}

int64_t peak_share_bytes(double share, int64_t peak_bytes, int64_t page_bytes) {
  const int64_t bytes = ByteLimit{.share = share}.resolve(peak_bytes);
  return std::max(bytes / page_bytes, int64_t{1}) * page_bytes;
}

}  // namespace tidemark::cli
