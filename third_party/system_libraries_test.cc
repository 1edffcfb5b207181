// Every system library compiles with our warnings, links, loads and answers one question.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <yaml-cpp/yaml.h>
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <sstream>
#include <string>

namespace {

TEST(SystemLibraries, YamlKeepsPositions) {
  const YAML::Node node = YAML::Load("a: 1\nb: {c: 2}\n");
  EXPECT_EQ(node["b"]["c"].as<int>(), 2);
  EXPECT_EQ(node["b"].Mark().line, 1);
}

TEST(SystemLibraries, JsonPrints) { EXPECT_EQ((nlohmann::json{{"a", 1}}).dump(), R"({"a":1})"); }

TEST(SystemLibraries, FmtFormats) { EXPECT_EQ(fmt::format("{:>4}", 42), "  42"); }

TEST(SystemLibraries, SpdlogWritesToASink) {
  std::ostringstream out;
  spdlog::logger logger("test", std::make_shared<spdlog::sinks::ostream_sink_st>(out));
  logger.set_pattern("%v");
  logger.info("key={}", 7);
  EXPECT_EQ(out.str(), "key=7\n");
}

TEST(SystemLibraries, Cli11Parses) {
  CLI::App app;
  int steps = 0;
  app.add_option("--steps", steps);
  app.parse("--steps 12");
  EXPECT_EQ(steps, 12);
}

TEST(SystemLibraries, ZlibCompressesAndExpands) {
  const std::string text(1000, 'x');
  std::string packed(2000, '\0'), back(1000, '\0');
  uLongf packed_bytes = packed.size(), back_bytes = back.size();
  auto* to = reinterpret_cast<Bytef*>(packed.data());
  ASSERT_EQ(compress(to, &packed_bytes, reinterpret_cast<const Bytef*>(text.data()), text.size()), Z_OK);
  EXPECT_LT(packed_bytes, 100u);
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(back.data()), &back_bytes, to, packed_bytes), Z_OK);
  EXPECT_EQ(back, text);
}

TEST(SystemLibraries, CryptoHashes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int digest_bytes = 0;
  ASSERT_EQ(EVP_Digest("abc", 3, digest, &digest_bytes, EVP_sha256(), nullptr), 1);
  ASSERT_EQ(digest_bytes, 32u);
  EXPECT_EQ(digest[0], 0xba);
  EXPECT_EQ(digest[31], 0xad);
}

TEST(SystemLibraries, PrometheusCounts) {
  prometheus::Registry registry;
  auto& counter = prometheus::BuildCounter().Name("x_total").Register(registry).Add({});
  counter.Increment(3);
  ASSERT_THAT(registry.Collect(), testing::SizeIs(1));
  EXPECT_EQ(registry.Collect()[0].metric[0].counter.value, 3);
}

TEST(SystemLibraries, PrometheusListens) {
  prometheus::Exposer exposer("127.0.0.1:0");
  EXPECT_THAT(exposer.GetListeningPorts(), testing::ElementsAre(testing::Gt(0)));
}

TEST(SystemLibraries, OneDnnMultiplies) {
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[4] = {};
  ASSERT_EQ(dnnl_sgemm('N', 'N', 2, 2, 2, 1.0f, a, 2, b, 2, 0.0f, c, 2), dnnl_success);
  EXPECT_THAT(c, testing::ElementsAre(19, 22, 43, 50));
}

}  // namespace
