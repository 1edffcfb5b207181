#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace tidemark {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::config:
      return "config";
    case ErrorCode::data:
      return "data";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::device:
      return "device";
    case ErrorCode::io:
      return "io";
    case ErrorCode::peer:
      return "peer";
  }
  TM_CHECK(false, "unknown ErrorCode " + std::to_string(static_cast<int>(code)));
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::config:
      return 2;
    case ErrorCode::out_of_memory:
      return 3;
    case ErrorCode::data:
      return 4;
    default:
      return 1;
  }
}

namespace internal {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, message.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace internal
}  // namespace tidemark
