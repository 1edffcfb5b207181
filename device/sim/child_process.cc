#include "device/sim/child_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "base/error.h"

namespace tidemark {

ChildProcess::ChildProcess(const std::function<void(const std::function<void()>& tell)>& body) {
  int ends[2] = {-1, -1};
  TM_CHECK(::pipe(ends) == 0, "no pipe for a child");
  pid_ = ::fork();
  TM_CHECK(pid_ >= 0, "no child");
  if (pid_ == 0) {
    ::close(ends[0]);
    int code = 0;
    try {
      body([&] { TM_CHECK(::write(ends[1], "x", 1) == 1, "the parent is gone"); });
    } catch (const std::exception& e) {
      std::fprintf(stderr, "child: %s\n", e.what());
      code = 1;
    }
    ::_exit(code);
  }
  ::close(ends[1]);
  pipe_ = ends[0];
}

ChildProcess::~ChildProcess() {
  kill();
  ::close(pipe_);
}

bool ChildProcess::wait_for_tell() {
  char byte = 0;
  return ::read(pipe_, &byte, 1) == 1;
}

void ChildProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait_for_end();
}

int ChildProcess::wait_for_end() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace tidemark
