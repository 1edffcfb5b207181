// SIGINT and SIGTERM as a request: a command ends after the step or token in hand, in good order; before there are
// steps, with a line that says what was interrupted.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <string>

#include "framework/compile/costs.h"

namespace tidemark::cli {

// From now on the first signal sets the flag, and a second one ends the process at once.
void take_stop_signals();

const std::atomic<bool>& stop_requested();

// What signals do while a plan is made: they end the process with one line on standard error and exit code 1. While
// costs are measured the first one waits for the measurement in hand, so that its figures are kept; a search for a
// schedule does not look around, and ends where it is. One object at a time; its end hands the signals back.
class PlanningInterrupt {
 public:
  // `who` begins the line: "tidemark train".
  explicit PlanningInterrupt(std::string who);
  ~PlanningInterrupt();
  PlanningInterrupt(const PlanningInterrupt&) = delete;
  PlanningInterrupt& operator=(const PlanningInterrupt&) = delete;

  // For train::PlanOptions: on_measuring, which then tells `next`, and stop_measuring. The object must outlive them.
  std::function<void(const compile::Measuring&)> listener(std::function<void(const compile::Measuring&)> next);
  std::function<bool()> stop();

 private:
  void say_from_now_on(const std::string& what);

  const std::string who_;
  std::list<std::string> lines_;  // a signal may be reading an earlier one
  void (*before_int_)(int);
  void (*before_term_)(int);
};

}  // namespace tidemark::cli
