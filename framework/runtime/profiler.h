// Wall time by op: which kernels a body's time goes to. Two clock reads an instruction.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "framework/runtime/executor.h"

namespace tidemark::runtime {

struct OpTime {
  std::string op;
  std::string kernel;
  int64_t calls = 0;
  double seconds = 0;
};

class Profiler : public ExecutionObserver {
 public:
  void before(const compile::Body& body, size_t instruction) override;
  void after(const compile::Body& body, size_t instruction) override;

  // Since the start or the last clear(), the dearest first.
  std::vector<OpTime> by_op() const;
  void clear() { times_.clear(); }

 private:
  std::map<std::pair<std::string, std::string>, OpTime> times_;  // by op and kernel
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace tidemark::runtime
