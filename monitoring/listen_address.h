// Where the exporter listens: "HOST:PORT" as people write it, checked before a server takes it.
#pragma once

#include <string>

namespace tidemark::monitoring {

// A numeric address and port that can be bound now, "127.0.0.1:9464". Port 0 stands for any free one. `address` is
// HOST:PORT with HOST a name or an IPv4 address: Debian's prometheus-cpp is built without IPv6. Throws Error(config) if
// it has another form or the host is unknown, Error(io) with the system's reason if it cannot be bound (in use, not
// allowed, not of this machine); both name the address.
std::string bindable_address(const std::string& address);

}  // namespace tidemark::monitoring
