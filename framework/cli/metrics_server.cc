#include "framework/cli/metrics_server.h"

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "monitoring/listen_address.h"

namespace tidemark::cli {
namespace {

// With what a person can do about it: most often another run serves there, and this one need not.
template <class Serve>
auto with_remedy(Serve&& serve) {
  try {
    return serve();
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) +
                                  ": --set metrics.listen=127.0.0.1:0 takes any free one, --set metrics.listen= none");
  }
}

}  // namespace

void refuse_taken_address(const std::string& listen) {
  if (!listen.empty()) with_remedy([&] { return monitoring::bindable_address(listen); });
}

std::unique_ptr<monitoring::Exporter> serve_metrics(Counters& counters, const std::string& listen,
                                                    std::function<void()> refresh) {
  if (listen.empty()) return nullptr;
  auto exporter =
      with_remedy([&] { return std::make_unique<monitoring::Exporter>(counters, listen, std::move(refresh)); });
  log(LogLevel::info, "metrics_served", {{"url", exporter->url()}});
  return exporter;
}

}  // namespace tidemark::cli
