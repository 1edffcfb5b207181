// SIGINT and SIGTERM as a request: a command ends after the step or token in hand, in good order.
#pragma once

#include <atomic>

namespace tidemark::cli {

// From now on the first signal sets the flag, and a second one ends the process at once.
void take_stop_signals();

const std::atomic<bool>& stop_requested();

}  // namespace tidemark::cli
