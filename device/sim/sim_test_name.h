// Names of simulated devices for tests: nobody else's.
#pragma once

#include <unistd.h>

#include <string>

namespace tidemark {

inline std::string sim_test_name(const std::string& test) {
  static int number = 0;
  return test + "." + std::to_string(::getpid()) + "." + std::to_string(number++);
}

}  // namespace tidemark
