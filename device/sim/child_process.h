// A forked child for tests: runs a body, tells its steps through a pipe, and is killed or awaited.
#pragma once

#include <sys/types.h>

#include <functional>

namespace tidemark {

// Forks from a process whose other threads, if any, hold nothing that the child needs.
class ChildProcess {
 public:
  // In the child: body(tell), then _exit(0), or _exit(1) if it throws; tell() lets one wait() of the parent return.
  explicit ChildProcess(const std::function<void(const std::function<void()>& tell)>& body);
  ~ChildProcess();  // killed if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Until the child calls tell(). False if it ended instead.
  bool wait_for_tell();
  // kill -9, then waits for its end.
  void kill();
  // Its exit code; -1 if a signal ended it.
  int wait_for_end();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace tidemark
