// The program `tidemark` as a process of its own.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::tests {

inline constexpr std::chrono::seconds kPatience{30};

struct Finished {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  int64_t peak_resident_bytes = 0;
  std::string out;
  std::string err;

  // Standard output as one JSON object; fails the test if it is anything else.
  nlohmann::json json() const;
};

class Program {
 public:
  // Starts it with these arguments; `environment` entries NAME=VALUE stand above the test's own. The output goes to
  // files of `folder`.
  Program(const std::string& folder, std::vector<std::string> arguments, std::vector<std::string> environment = {});
  ~Program();  // ends it if it still runs
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  bool is_running();
  // Waits until its standard error holds `text`; false if the process ends first or kPatience is over.
  bool wait_for(std::string_view text);
  // Waits for its end; one that takes longer is killed and fails the test.
  Finished wait(std::chrono::seconds patience = kPatience);

 private:
  std::string out_path_, err_path_;
  pid_t pid_ = -1;
  int status_ = 0;
  struct rusage usage_ {};
  bool ended_ = false;
};

Finished run_program(const std::string& folder, std::vector<std::string> arguments,
                     std::vector<std::string> environment = {});

}  // namespace tidemark::tests
