// Measured costs of instructions, kept in a file so that the same plan is made again. Note [Cost file]
//
// A figure is the least time of several runs of the kernel alone (until the least ones agree), in turns on several
// copies of operands of its own (as in a step, most operands come from memory), keyed by kernel, shapes, attributes and
// threads. Figures that the file has are never measured again: a plan is a function of configuration, device limits,
// seed and this file, whose digest is part of the plan. measure_again() is for figures of a busy machine. The operands
// are on the plain heap, for one kernel at a time, and gone before the run takes its arena; where the machine has room
// for fewer copies, fewer are made (kernel_timing.h).
//
// Two processes that measure at once would disturb each other and rest on different figures. So who measures is the
// file's writer from before the first kernel until the figures are in it, and reads it again at the start: whoever
// waited finds them there. That a file cannot be written is known before anything is measured. Figures go into the file
// at least every kKeepSeconds and before a request to stop is obeyed: a process that is killed loses the last few only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "framework/compile/cost_file.h"
#include "framework/compile/costs.h"

namespace tidemark::compile {

inline constexpr double kKeepSeconds = 1;

// A request to stop came between two measurements. Says how far it was and where the figures are kept.
class MeasuringStopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What measuring again has found. A ratio is the new figure by the old one; all are 1 where nothing is compared.
struct CostChange {
  int64_t compared = 0;     // figures that were known before and have been measured again
  int64_t changed = 0;      // of these, those whose ratio is farther from 1 than kNoticedChange
  double median_ratio = 1;  // of an even number the mean of the middle two
  double least_ratio = 1;
  double greatest_ratio = 1;
};
inline constexpr double kNoticedChange = 0.1;

// Every figure of `before` also has one in `now`.
CostChange change_between(const CostFigures& before, const CostFigures& now);

class MeasuredCosts : public Costs {
 public:
  // Reads `path` if it exists. Throws Error(data) naming the file if it is no cost file; empty path: nothing is kept.
  // `room` is asked for the bytes that operands may take; by default those that this machine can give now.
  MeasuredCosts(std::string path, int threads, std::function<int64_t()> room = {});

  // Called before each measurement of prepare(), and once when the file has them.
  void on_measuring(std::function<void(const Measuring&)> tell) { tell_ = std::move(tell); }

  // Asked before each measurement of prepare(), and after the last: true makes prepare() throw MeasuringStopped.
  void stop_if(std::function<bool()> asked) { stop_ = std::move(asked); }

  // Called before measuring, if another process has been measuring into the same file for a second: CostFileWriter.
  void on_waiting(CostFileWriter::OnWaiting tell) { on_waiting_ = std::move(tell); }
  // Called if the file cannot be written: costs are then kept in none. Without it that is thrown as Error(io).
  void on_not_kept(std::function<void(const Error&)> tell) { on_not_kept_ = std::move(tell); }

  // From now on prepare() also measures what is known but not measured by this object, and the figures take the place
  // of the file's. What a caller asks for before prepare() is the old figure.
  void measure_again() { again_ = true; }
  CostChange change() const { return change_between(before_, fresh_); }

  // Keeps what it measures, also if it throws.
  void prepare(const Graph& graph, const LoweredNodes& lowered) override;
  std::optional<int64_t> known(const Graph& graph, NodeId node, const LoweredNode& lowered) override;
  // Throws Error(out_of_memory) with both numbers if there is no room for one copy of the node's operands.
  int64_t nanoseconds(const Graph& graph, NodeId node, const LoweredNode& lowered) override;

  int64_t measured() const { return measured_; }  // figures that were missing, or are measured again
  // Keeps what was measured outside prepare().
  void save();
  const std::string& file() const { return path_; }  // empty: nothing is kept
  // SHA-256 of all figures.
  std::string digest() const;

 private:
  using Missing = std::map<std::string, NodeId>;  // one node of each key

  Missing missing(const Graph& graph, const LoweredNodes& lowered) const;
  void measure(const Graph& graph, const LoweredNodes& lowered, const Missing& missing, CostFileWriter* writer);
  int64_t measure_one(const std::string& key, const Graph& graph, NodeId id, const LoweredNode& lowered);
  void obey_stop(const Measuring& now, CostFileWriter* writer);
  std::unique_ptr<CostFileWriter> become_writer();  // nullptr if nothing is kept
  void write(CostFileWriter* writer);
  void do_without_file(const Error& why);

  std::string path_;
  int threads_;
  std::function<int64_t()> room_;
  std::function<void(const Measuring&)> tell_;
  std::function<bool()> stop_;
  CostFileWriter::OnWaiting on_waiting_;
  std::function<void(const Error&)> on_not_kept_;
  CostFigures nanoseconds_;
  bool again_ = false;
  CostFigures fresh_;   // measured by this object
  CostFigures before_;  // what stood in the place of some of these
  int64_t measured_ = 0;
  bool is_saved_ = true;
};

}  // namespace tidemark::compile
