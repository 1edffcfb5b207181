#include "framework/cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>

#include "base/error.h"

namespace tidemark::cli {

void prepare_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) _exit(1);  // the lowest free number: `stream`
  std::signal(SIGXFSZ, SIG_IGN);
}

void finish_output() {
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (!flushed || std::ferror(stdout) != 0 || !std::cout)
    throw Error(ErrorCode::io, "standard output could not be written in full; is the disk full?");
}

}  // namespace tidemark::cli
