// The smallest HTTP client: one GET over a socket of its own, as a scraper does it.
#pragma once

#include <string>

namespace tidemark::monitoring {

struct HttpReply {
  int status = 0;  // 0: no connection
  std::string headers;
  std::string body;
};

// `host` is a numeric IPv4 or IPv6 address.
HttpReply http_get(const std::string& host, int port, const std::string& path);

}  // namespace tidemark::monitoring
