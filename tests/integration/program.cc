#include "tests/integration/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace tidemark::tests {
namespace {

constexpr const char* kProgram = "framework/cli/tidemark";
constexpr std::chrono::milliseconds kPoll{1};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> merged_environment(std::vector<std::string> first) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=') + 1));
    bool overridden = false;
    for (const std::string& mine : first) overridden = overridden || mine.starts_with(name);
    if (!overridden) first.emplace_back(text);
  }
  return first;
}

}  // namespace

nlohmann::json Finished::json() const {
  const auto parsed = nlohmann::json::parse(out, nullptr, false);
  if (parsed.is_object()) return parsed;
  ADD_FAILURE() << "standard output is not one JSON object: '" << out << "'\nstandard error: " << err;
  return nlohmann::json::object();
}

Program::Program(const std::string& folder, std::vector<std::string> arguments, std::vector<std::string> environment)
    : out_path_(folder + "/out.txt"), err_path_(folder + "/err.txt") {
  arguments.insert(arguments.begin(), kProgram);
  environment = merged_environment(std::move(environment));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const auto& [descriptor, path] : {std::pair{1, &out_path_}, std::pair{2, &err_path_}}) {
    ::unlink(path->c_str());
    posix_spawn_file_actions_addopen(&files, descriptor, path->c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  }
  const int error =
      posix_spawn(&pid_, kProgram, &files, nullptr, pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  TM_CHECK(error == 0, std::string("cannot start ") + kProgram);
}

Program::~Program() {
  if (ended_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, &status_, 0);
}

void Program::send(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

bool Program::is_running() {
  if (!ended_) ended_ = ::wait4(pid_, &status_, WNOHANG, &usage_) == pid_;
  return !ended_;
}

bool Program::wait_for(std::string_view text) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    const bool running = is_running();
    if (::access(err_path_.c_str(), R_OK) == 0 && read_file(err_path_).find(text) != std::string::npos) return true;
    if (!running) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return false;
}

Finished Program::wait(std::chrono::seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (is_running() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPoll);
  if (is_running()) {
    ADD_FAILURE() << "the program does not end in " << patience.count() << " s";
    ::kill(pid_, SIGKILL);
    ended_ = ::wait4(pid_, &status_, 0, &usage_) == pid_;
  }
  Finished finished;
  if (WIFEXITED(status_)) finished.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) finished.signal = WTERMSIG(status_);
  finished.peak_resident_bytes = usage_.ru_maxrss * 1024;
  finished.out = read_file(out_path_);
  finished.err = read_file(err_path_);
  return finished;
}

Finished run_program(const std::string& folder, std::vector<std::string> arguments,
                     std::vector<std::string> environment) {
  return Program(folder, std::move(arguments), std::move(environment)).wait();
}

}  // namespace tidemark::tests
