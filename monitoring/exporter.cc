#include "monitoring/exporter.h"

#include <arpa/inet.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "monitoring/families.h"
#include "monitoring/listen_address.h"

namespace tidemark::monitoring {
namespace {

class CounterCollection : public prometheus::Collectable {
 public:
  CounterCollection(Counters& counters, std::function<void()> refresh)
      : counters_(counters), refresh_(std::move(refresh)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const std::lock_guard lock(mutex_);
    if (refresh_) try_refresh();
    return to_families(counters_.snapshot());
  }

 private:
  // The callers are C code of the server, through which nothing may be thrown: a /proc that cannot be read at the
  // moment must not end the training.
  void try_refresh() const {
    try {
      refresh_();
    } catch (const std::exception& e) {
      log(LogLevel::warning, "metrics_not_refreshed", {{"why", e.what()}});
    }
  }

  Counters& counters_;
  std::function<void()> refresh_;
  mutable std::mutex mutex_;  // of scrapes that come at once
};

// Two, so that one client that says nothing does not keep the others waiting.
constexpr const char* kWorkers = "2";
constexpr const char* kClientTimeoutMs = "5000";

// The server's accepting thread looks only every 2 s whether it should end, or when somebody connects: so somebody
// does, until `ended` is set.
void knock_until(const std::atomic<bool>& ended, int port, const std::string& host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host == "0.0.0.0" ? "127.0.0.1" : host.c_str(), &address.sin_addr);
  while (!ended) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    // Whether it succeeds does not matter: at the end the port is closed.
    [[maybe_unused]] const int result = connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::close(socket);
  }
}

}  // namespace

struct Exporter::Server {
  Server(Counters& counters, const std::string& bound, std::function<void()> refresh)
      : host(bound.substr(0, bound.rfind(':'))),
        collection(std::make_shared<CounterCollection>(counters, std::move(refresh))),
        exposer(std::make_unique<prometheus::Exposer>(std::vector<std::string>{
            "listening_ports", bound, "num_threads", kWorkers, "request_timeout_ms", kClientTimeoutMs})) {
    port = exposer->GetListeningPorts().at(0);
    exposer->RegisterCollectable(collection);
  }

  ~Server() {
    std::atomic<bool> ended{false};
    std::thread visitor;
    try {
      visitor = std::thread(knock_until, std::cref(ended), port, std::cref(host));
    } catch (const std::exception& e) {  // without a visitor the end takes two seconds
      log(LogLevel::warning, "metrics_end_slowly", {{"why", e.what()}});
    }
    exposer.reset();  // its threads end before what they use
    ended = true;
    if (visitor.joinable()) visitor.join();
  }

  std::string host;
  int port = 0;
  std::shared_ptr<CounterCollection> collection;
  std::unique_ptr<prometheus::Exposer> exposer;
};

Exporter::Exporter(Counters& counters, const std::string& address, std::function<void()> refresh) {
  const std::string bound = bindable_address(address);
  try {
    server_ = std::make_unique<Server>(counters, bound, std::move(refresh));
  } catch (const std::exception& e) {  // the port was taken in between, or the server has its own reasons
    throw Error(ErrorCode::io, "metrics address '" + address + "' cannot be served: " + e.what());
  }
}

Exporter::~Exporter() = default;

int Exporter::port() const { return server_->port; }

std::string Exporter::url() const { return "http://" + server_->host + ":" + std::to_string(port()) + "/metrics"; }

}  // namespace tidemark::monitoring
