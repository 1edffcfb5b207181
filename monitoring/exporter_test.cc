#include "monitoring/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/category.h"
#include "base/error.h"
#include "monitoring/listen_address.h"
#include "monitoring/testing/http_get.h"

namespace tidemark::monitoring {
namespace {

using testing::HasSubstr;

constexpr const char* kAnyPort = "127.0.0.1:0";

std::string scrape(const Exporter& exporter) { return http_get("127.0.0.1", exporter.port(), "/metrics").body; }

std::string error_of(const std::string& address) {
  try {
    Counters counters;
    const Exporter exporter(counters, address);
    return "";
  } catch (const Error& e) {
    return std::string(to_string(e.code())) + ": " + e.what();
  }
}

// Connects and leaves it at that.
class SilentClient {
 public:
  explicit SilentClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~SilentClient() { close(socket_); }

 private:
  int socket_;
};

// As many series as a rank may have: gauges by category, plain ones, counters and a histogram.
void fill(Counters& counters) {
  std::vector<std::string_view> categories;
  for (int i = 0; i < kCategoryCount; ++i) categories.push_back(to_string(static_cast<Category>(i)));
  const auto allocated = counters.gauges("tidemark_memory_allocated_bytes", "Bytes allocated.", "category", categories);
  for (size_t i = 0; i < allocated.size(); ++i) allocated[i].set(9007199254740991.0 - static_cast<double>(i));
  counters.info("tidemark_build_info", "What was built.", {{"version", "1.0"}, {"note", "a \"b\"\\\n"}});
  Histogram& steps =
      counters.histogram("tidemark_step_duration_seconds", "Seconds of a step.", {0.001, 0.01, 0.1, 1, 10});
  steps.observe(0.05);
  for (int i = 0; counters.series_count() < 140; ++i) {
    counters.counter("tidemark_events_" + std::to_string(i) + "_total", "Events of a kind.").add(i);
  }
}

TEST(Exporter, ServesTheCountersOverHttp) {
  Counters counters({{"device", "cpu"}, {"rank", "0"}});
  fill(counters);
  const Exporter exporter(counters, kAnyPort);
  const HttpReply reply = http_get("127.0.0.1", exporter.port(), "/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.headers, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(reply.body, HasSubstr("# TYPE tidemark_memory_allocated_bytes gauge"));
  EXPECT_THAT(
      reply.body,
      HasSubstr("tidemark_memory_allocated_bytes{device=\"cpu\",rank=\"0\",category=\"weights\"} 9007199254740991\n"));
  EXPECT_THAT(reply.body,
              HasSubstr("tidemark_step_duration_seconds_bucket{device=\"cpu\",rank=\"0\",le=\"+Inf\"} 1\n"));
  EXPECT_THAT(reply.body, HasSubstr(R"(note="a \"b\"\\\n")"));
  EXPECT_EQ(exporter.url(), "http://127.0.0.1:" + std::to_string(exporter.port()) + "/metrics");
  EXPECT_EQ(http_get("127.0.0.1", exporter.port(), "/other").status, 404);
}

TEST(Exporter, EveryScrapeSeesTheLatestValues) {
  Counters counters;
  Counter& steps = counters.counter("tidemark_steps_total", "Steps.");
  Gauge& live = counters.gauge("tidemark_live_bytes", "Live bytes.");
  int scrapes = 0;
  const Exporter exporter(counters, kAnyPort, [&] { live.set(100 * ++scrapes); });
  EXPECT_THAT(scrape(exporter), HasSubstr("tidemark_steps_total 0\n"));
  steps.add(7);
  const std::string second = scrape(exporter);
  EXPECT_THAT(second, HasSubstr("tidemark_steps_total 7\n"));
  EXPECT_THAT(second, HasSubstr("tidemark_live_bytes 200\n"));
}

TEST(Exporter, AFailedRefreshIsLoggedAndThePageStillServed) {
  Counters counters;
  counters.counter("tidemark_steps_total", "Steps.").add(3);
  testing::internal::CaptureStderr();
  std::string page;
  {
    const Exporter exporter(counters, kAnyPort, [] { throw Error(ErrorCode::io, "cannot open '/proc/meminfo'"); });
    page = scrape(exporter);
  }
  EXPECT_THAT(page, HasSubstr("tidemark_steps_total 3\n"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("event=metrics_not_refreshed why=\"cannot open '/proc/meminfo'\""));
}

TEST(Exporter, GroupsOfUpdatesAreSeenWholeWhileTrainingGoesOn) {
  Counters counters;
  Counter& a = counters.counter("tidemark_a_total", "A.");
  Counter& b = counters.counter("tidemark_b_total", "B.");
  std::atomic<bool> stop{false};
  std::thread training([&] {
    while (!stop) {
      {
        const Counters::Update update(counters);
        a.add();
        b.add();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  const Exporter exporter(counters, kAnyPort);
  for (int i = 0; i < 50; ++i) {
    const std::string body = scrape(exporter);
    const auto value = [&](const std::string& name) {
      return std::stod(body.substr(body.find("\n" + name) + name.size() + 2));
    };
    EXPECT_EQ(value("tidemark_a_total"), value("tidemark_b_total"));
  }
  stop = true;
  training.join();
}

TEST(Exporter, AScrapeOfAllSeriesTakesLessThanTwoMilliseconds) {
  Counters counters({{"device", "cpu"}, {"rank", "0"}});
  fill(counters);
  const Exporter exporter(counters, kAnyPort);
  double best_ms = 1e9;
  for (int i = 0; i < 30; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_FALSE(scrape(exporter).empty());
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    best_ms = std::min(best_ms, elapsed.count());
  }
  RecordProperty("best_scrape_ms", std::to_string(best_ms));
  EXPECT_LT(best_ms, 2.0);
}

TEST(Exporter, APageHasNoMoreSeriesThanTheCountersAndTheServersOwn) {
  Counters counters;
  fill(counters);
  const Exporter exporter(counters, kAnyPort);
  scrape(exporter);
  std::istringstream lines(scrape(exporter));
  int ours = 0, others = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    ++(line.starts_with("tidemark_") ? ours : others);
  }
  EXPECT_EQ(ours, static_cast<int>(counters.series_count()));
  EXPECT_LE(ours + others, 150);
}

TEST(Exporter, AddressesThatCannotBeServedAreNamedWithTheReason) {
  Counters counters;
  const Exporter first(counters, kAnyPort);
  const std::string taken = "127.0.0.1:" + std::to_string(first.port());
  EXPECT_THAT(error_of(taken),
              HasSubstr("io: metrics address '" + taken + "' cannot be bound: Address already in use"));
  EXPECT_THAT(error_of("192.0.2.1:0"), HasSubstr("io: metrics address '192.0.2.1:0' cannot be bound: Cannot assign"));
  EXPECT_THAT(error_of("no-such-host.invalid:1"), HasSubstr("config: metrics address 'no-such-host.invalid:1': host"));
  for (const char* wrong :
       {"", "9464", "localhost", "localhost:", ":9464", "h:65536", "h:-1", "h:x", "[::1]:80", "h:123456"}) {
    EXPECT_THAT(error_of(wrong), HasSubstr("config: metrics address '" + std::string(wrong) + "' must be HOST:PORT"));
  }
}

TEST(Exporter, HostsMayBeNames) {
  EXPECT_EQ(bindable_address("localhost:0"), "127.0.0.1:0");
  Counters counters;
  const Exporter everywhere(counters, "0.0.0.0:0");
  EXPECT_EQ(http_get("127.0.0.1", everywhere.port(), "/metrics").status, 200);
}

TEST(Exporter, EndsSoonEvenWithAClientThatSaysNothing) {
  Counters counters;
  auto exporter = std::make_unique<Exporter>(counters, kAnyPort);
  const SilentClient client(exporter->port());
  EXPECT_EQ(http_get("127.0.0.1", exporter->port(), "/metrics").status, 200);
  const auto begin = std::chrono::steady_clock::now();
  exporter.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
}

TEST(Exporter, EndsAtOnceWhereNobodyIsConnected) {
  Counters counters;
  auto exporter = std::make_unique<Exporter>(counters, kAnyPort);
  const auto begin = std::chrono::steady_clock::now();
  exporter.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));  // the server alone takes 2
}

TEST(Exporter, ThePortIsFreeAgainAfterwards) {
  Counters counters;
  std::string address;
  {
    const Exporter exporter(counters, kAnyPort);
    address = "127.0.0.1:" + std::to_string(exporter.port());
    scrape(exporter);
  }
  EXPECT_EQ(error_of(address), "");
}

TEST(Exporter, PromtoolFindsNothingToSay) {
  if (std::system("command -v promtool > /dev/null") != 0) GTEST_SKIP() << "needs promtool (Debian package prometheus)";
  Counters counters({{"device", "cpu"}, {"rank", "0"}});
  fill(counters);
  const Exporter exporter(counters, kAnyPort);
  std::istringstream lines(scrape(exporter));
  const std::string page = testing::TempDir() + "page.txt";
  const std::string verdict = testing::TempDir() + "verdict.txt";
  {
    std::ofstream out(page);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("exposer_") == std::string::npos) out << line << "\n";  // the server's own metrics
    }
  }
  EXPECT_EQ(std::system(("promtool check metrics < " + page + " > " + verdict + " 2>&1").c_str()), 0);
  std::stringstream said;
  said << std::ifstream(verdict).rdbuf();
  EXPECT_EQ(said.str(), "");
}

}  // namespace
}  // namespace tidemark::monitoring
