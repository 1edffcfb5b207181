#include "monitoring/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "base/error.h"

namespace tidemark::monitoring {
namespace {

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort split(const std::string& address) {
  const size_t colon = address.find(':');
  const std::string host = address.substr(0, colon == std::string::npos ? 0 : colon);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (host.empty() || !digits || std::stoi(port) > 65535) {
    throw Error(ErrorCode::config, "metrics address '" + address + "' must be HOST:PORT, such as 127.0.0.1:9464");
  }
  return {host, port};
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const HostAndPort& parts, const std::string& address) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found);
  if (result != 0) {
    throw Error(ErrorCode::config,
                "metrics address '" + address + "': host '" + parts.host + "' is unknown: " + gai_strerror(result));
  }
  return AddressList(found, &freeaddrinfo);
}

// errno of binding, 0 if it works. The socket is gone afterwards.
int try_bind(const addrinfo& candidate) {
  const int socket = ::socket(candidate.ai_family, candidate.ai_socktype | SOCK_CLOEXEC, candidate.ai_protocol);
  if (socket < 0) return errno;
  const int on = 1;  // as the server will have it: a port in TIME_WAIT is free
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound = bind(socket, candidate.ai_addr, candidate.ai_addrlen) == 0 && listen(socket, 1) == 0;
  const int error = bound ? 0 : errno;
  ::close(socket);
  return error;
}

std::string numeric(const addrinfo& candidate) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  const int result = getnameinfo(candidate.ai_addr, candidate.ai_addrlen, host, sizeof host, port, sizeof port,
                                 NI_NUMERICHOST | NI_NUMERICSERV);
  TM_CHECK(result == 0, gai_strerror(result));
  return std::string(host) + ":" + port;
}

}  // namespace

std::string bindable_address(const std::string& address) {
  const AddressList candidates = resolve(split(address), address);
  int first_error = 0;
  for (const addrinfo* candidate = candidates.get(); candidate != nullptr; candidate = candidate->ai_next) {
    const int error = try_bind(*candidate);
    if (error == 0) return numeric(*candidate);
    if (first_error == 0) first_error = error;
  }
  throw Error(ErrorCode::io, "metrics address '" + address + "' cannot be bound: " +
                                 std::generic_category().message(first_error) + "; set metrics.listen to another port");
}

}  // namespace tidemark::monitoring
