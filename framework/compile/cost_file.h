// The file that keeps measured costs, and the right to write it: what Note [Cost file] of measured_costs.h stands on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tidemark::compile {

// A quarter of an hour, which no kernel takes: costs of thousands of nodes still add up to what planners count with.
inline constexpr int64_t kMostCostNanoseconds = 900'000'000'000;

using CostFigures = std::map<std::string, int64_t>;  // nanoseconds, from 1 to the above

// None if there is no such file, or one of an older format, whose figures are measured anew. Throws Error(data) that
// names a file of any other content, Error(io) if it is no regular file or cannot be read.
CostFigures read_cost_file(const std::string& path);

// One process at a time is the writer of a file; one that dies is so no more. A file PATH.lock stays beside PATH.
class CostFileWriter {
 public:
  // Called once if another process has been the writer for a second: its id, 0 if unknown.
  using OnWaiting = std::function<void(pid_t writer)>;

  // Makes the folder, waits until no one else is the writer, and makes sure that files can be made there. Throws
  // Error(io) with the path, the reason and the setting to change.
  explicit CostFileWriter(std::string path, const OnWaiting& on_waiting = {});
  ~CostFileWriter();
  CostFileWriter(const CostFileWriter&) = delete;
  CostFileWriter& operator=(const CostFileWriter&) = delete;

  // Adds figures to those that the file holds by now, which stay. Throws Error(io) as above, Error(data) as reading.
  void add(CostFigures figures);
  // The same, but figures take the place of those that the file holds under their names.
  void put(CostFigures figures);

 private:
  void wait(const OnWaiting& on_waiting);
  pid_t writer() const;
  void sign();

  const std::string path_;
  int descriptor_ = -1;  // of the lock file
};

}  // namespace tidemark::compile
