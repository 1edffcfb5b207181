#include "monitoring/testing/http_get.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace tidemark::monitoring {
namespace {

int connect_to(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* address = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &address) != 0) return -1;
  int socket = ::socket(address->ai_family, SOCK_STREAM, 0);
  if (socket >= 0 && connect(socket, address->ai_addr, address->ai_addrlen) != 0) {
    ::close(socket);
    socket = -1;
  }
  freeaddrinfo(address);
  return socket;
}

}  // namespace

HttpReply http_get(const std::string& host, int port, const std::string& path) {
  HttpReply reply;
  const int socket = connect_to(host, port);
  if (socket < 0) return reply;
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char buffer[1 << 14];
    for (ssize_t got; (got = recv(socket, buffer, sizeof buffer, 0)) > 0;)
      reply.body.append(buffer, static_cast<size_t>(got));
  }
  ::close(socket);
  const size_t end = reply.body.find("\r\n\r\n");
  if (end == std::string::npos || !reply.body.starts_with("HTTP/1.1 ")) return reply;
  reply.headers = reply.body.substr(0, end);
  reply.body.erase(0, end + 4);
  reply.status = std::atoi(reply.headers.c_str() + 9);
  return reply;
}

}  // namespace tidemark::monitoring
