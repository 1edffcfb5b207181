// Serves the counters of a process to Prometheus: http://HOST:PORT/metrics, in the text format.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/counters.h"

namespace tidemark::monitoring {

class Exporter {
 public:
  // Listens on "HOST:PORT" (port 0: any free one) until destroyed; `counters` must outlive it. `refresh`, if given, is
  // called before each snapshot, one call at a time, on the scraping thread, to set gauges that nobody keeps up to date
  // (live bytes at the instruction in hand); it must not wait for the training thread. What it throws is logged, and
  // the page shows the values of before. Throws what bindable_address() throws.
  Exporter(Counters& counters, const std::string& address, std::function<void()> refresh = {});
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  int port() const;
  std::string url() const;  // "http://127.0.0.1:9464/metrics"

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace tidemark::monitoring
