#include "tests/integration/scrape.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "monitoring/testing/http_get.h"

namespace tidemark::tests {
namespace {

std::map<std::string, double> totals(const std::string& body) {
  std::map<std::string, double> sums;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    sums[line.substr(0, line.find_first_of("{ "))] += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sums;
}

}  // namespace

int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

std::map<std::string, double> scrape(int port) {
  for (int attempt = 0; attempt < 2000; ++attempt) {
    const monitoring::HttpReply reply = monitoring::http_get("127.0.0.1", port, "/metrics");
    if (reply.status == 200) return totals(reply.body);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ADD_FAILURE() << "no answer on port " << port;
  return {};
}

}  // namespace tidemark::tests
