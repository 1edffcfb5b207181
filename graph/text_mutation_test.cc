// The parser against damaged text: whatever it is given, it returns a graph or throws Error(data).
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "graph/fake_ops.h"
#include "graph/text.h"
#include "graph/verifier.h"

namespace tidemark {
namespace {

constexpr std::string_view kSound = R"(graph "sound" {
  external %0 : f32[2,3] input micro_batch "images"
  external %1 : f32[2,3] weights run "layer0/w"
  external %tokens : i32[4,8] input micro_batch "tokens"
  %3 = product(%0, %1) {rate=0.5, kind="a\"b\x01", on=true} "layer0/product"
  %4, %5 "/mask" = gate(%3) "gate"
  %6 gradients step = product_grad(%4, %0, _) {like=[2,3]} "dw"
  %7 = lookup(%tokens, %1) {shape=[4,8,3]}
  %8 "w/updated" = update(%1, %6) "update"
  result %8
}
)";

constexpr std::string_view kPieces[] = {"%",        "%0",
                                        "%3",       "\"",
                                        "\\",       "\\x",
                                        "{",        "}",
                                        "(",        ")",
                                        "[",        "]",
                                        ",",        "=",
                                        ":",        "_",
                                        "/",        "-",
                                        "0",        "1e9",
                                        "99999",    "9223372036854775807",
                                        "step",     "gate",
                                        "\n",       "#",
                                        "nan",      "true",
                                        "f32[",     "result",
                                        "external", "graph \"g\" {"};

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (size_t edits = 1 + below(4); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void edit(std::string& text) {
    const size_t at = below(text.size() + 1);
    const size_t length = std::min(below(12), text.size() - at);
    switch (below(6)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text.replace(at, length, kPieces[below(std::size(kPieces))]);
        break;
      case 3:
        text.insert(below(text.size() + 1), text.substr(at, length * 4));
        break;
      case 4:
        text.resize(at);
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
    }
  }

  std::mt19937 random_;
};

class TextMutation : public ::testing::TestWithParam<uint32_t> {};

TEST_P(TextMutation, GivesAGraphOrADataError) {
  const OpTable ops = testing::fake_ops();
  Mutator mutator(GetParam());
  int accepted = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string text = mutator.mutate(std::string(kSound));
    try {
      const Graph graph = parse_graph(text, ops);
      const std::string printed = print(graph);
      EXPECT_EQ(print(parse_graph(printed, ops)), printed) << "seed " << GetParam() << ", from:\n" << text;
      try {
        verify(graph, ops);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::config);
      }
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::data) << "seed " << GetParam() << ": " << error.what() << "\n" << text;
      EXPECT_EQ(std::string_view(error.what()).substr(0, 5), "line ") << text;
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TextMutation, ::testing::Values(1u, 2u, 3u));

}  // namespace
}  // namespace tidemark
