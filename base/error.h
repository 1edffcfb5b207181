// Errors that users, files, peers or devices can cause, and the check for our own bugs.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tidemark {

// What kind of thing went wrong; the program's exit code follows from it (exit_code()).
enum class ErrorCode { config, data, out_of_memory, device, io, peer };

std::string_view to_string(ErrorCode code);

// 2 for config, 3 for out_of_memory, 4 for data, 1 for the rest.
int exit_code(ErrorCode code);

// Thrown by libraries. The message says what failed, which object, wanted against allowed, and the next step.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

namespace internal {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);
}  // namespace internal

}  // namespace tidemark

// For our own bugs only: prints file, line, condition and message to standard error and aborts. Active in every build.
#define TM_CHECK(condition, message)                                                                 \
  do {                                                                                               \
    if (!(condition)) ::tidemark::internal::check_failed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
