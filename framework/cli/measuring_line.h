// What a person sees while costs are measured: a line in place on a terminal, elsewhere one every few seconds.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "framework/compile/costs.h"

namespace tidemark::cli {

// Without a terminal, measuring that is done in less than the first of these says nothing.
inline constexpr double kFirstLineSeconds = 2;
inline constexpr double kNextLineSeconds = 5;

class MeasuringLine {
 public:
  // On standard error.
  MeasuringLine();
  // seconds: a clock; by default a steady one.
  MeasuringLine(std::ostream& out, bool terminal, size_t columns, std::function<double()> seconds = {});
  ~MeasuringLine();  // takes the line away
  MeasuringLine(const MeasuringLine&) = delete;
  MeasuringLine& operator=(const MeasuringLine&) = delete;

  void tell(const compile::Measuring& now);
  // tell() as a function; the object must outlive it.
  std::function<void(const compile::Measuring&)> listener();

 private:
  void draw(const std::string& text);
  void clear();

  std::ostream& out_;
  const bool terminal_;
  const size_t columns_;
  const std::function<double()> seconds_;
  bool drawn_ = false;
  bool said_ = false;  // a line of the graph that is measured now
  double begin_ = 0;
  double next_ = 0;
};

}  // namespace tidemark::cli
