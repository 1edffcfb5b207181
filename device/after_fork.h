// What a forked child must let go of.
#pragma once

#include <cstdint>
#include <functional>

namespace tidemark {

// While it lives, `in_child` runs in every child of fork(), at once and on the forking thread. It must not throw and
// must not wait for other threads: they are not there. (Not run for children that call exec without a fork, whose
// descriptors the system closes.)
class AfterFork {
 public:
  explicit AfterFork(std::function<void()> in_child);
  ~AfterFork();
  AfterFork(const AfterFork&) = delete;
  AfterFork& operator=(const AfterFork&) = delete;

 private:
  int64_t number_;
};

}  // namespace tidemark
