#include "framework/cli/stop_request.h"

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

namespace tidemark::cli {
namespace {

constexpr int kInterruptedExitCode = 1;

// A signal handler reaches nothing that is not global.
std::atomic<bool> requested{false};
std::atomic<bool> measures{false};
std::atomic<bool> stop_measuring{false};
std::atomic<const char*> interrupted_line{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
static_assert(std::atomic<const char*>::is_always_lock_free, "a signal handler reads it");

void request_stop(int signal) {
  if (requested.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

// Only what is safe in a handler: no destructors run, which a killed process does without, too.
void end_planning(int) {
  if (measures && !stop_measuring.exchange(true)) return;
  const char* line = interrupted_line;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, std::strlen(line));
  _exit(kInterruptedExitCode);
}

}  // namespace

void take_stop_signals() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
}

const std::atomic<bool>& stop_requested() { return requested; }

PlanningInterrupt::PlanningInterrupt(std::string who) : who_(std::move(who)) {
  say_from_now_on("planning; nothing was written");
  before_int_ = std::signal(SIGINT, end_planning);
  before_term_ = std::signal(SIGTERM, end_planning);
}

PlanningInterrupt::~PlanningInterrupt() {
  measures = false;
  std::signal(SIGINT, before_int_);
  std::signal(SIGTERM, before_term_);
}

void PlanningInterrupt::say_from_now_on(const std::string& what) {
  interrupted_line = lines_.emplace_back(who_ + ": interrupted while " + what + '\n').c_str();
}

std::function<void(const compile::Measuring&)> PlanningInterrupt::listener(
    std::function<void(const compile::Measuring&)> next) {
  return [this, next = std::move(next)](const compile::Measuring& now) {
    const std::string kept = "kept in " + std::string(now.file) + ", nothing else was written";
    if (!now.file.empty() && now.done == 0) say_from_now_on("measuring; costs known a second ago are " + kept);
    if (!now.file.empty() && now.done == now.missing)
      say_from_now_on("planning; the costs measured so far are " + kept);
    measures = now.done < now.missing;
    next(now);
  };
}

std::function<bool()> PlanningInterrupt::stop() {
  return [] { return stop_measuring.load(); };
}

}  // namespace tidemark::cli
