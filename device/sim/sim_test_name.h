// Names of simulated devices for tests: nobody else's.
#pragma once

#include <unistd.h>

#include <random>
#include <string>

namespace tidemark {

// Processes of two sandboxes can have one number but one folder of ledgers: hence the random part.
inline std::string sim_test_name(const std::string& test) {
  static const std::string process = std::to_string(::getpid()) + "." + std::to_string(std::random_device{}());
  static int number = 0;
  return test + "." + process + "." + std::to_string(number++);
}

}  // namespace tidemark
