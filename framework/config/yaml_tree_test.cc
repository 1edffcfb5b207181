#include "framework/config/yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tidemark::config {
namespace {

using testing::ElementsAre;

YamlNode parse(std::string_view text, Problems& problems) {
  bool syntax_ok = true;
  return parse_yaml(text, problems, syntax_ok);
}

TEST(YamlTree, KeysAndValuesKnowTheirPlace) {
  Problems problems("f");
  const YamlNode root = parse("a: 1\nb:\n  c: [x, 'y']\n", problems);
  EXPECT_TRUE(problems.empty());
  const YamlEntry& b = *root.find("b");
  EXPECT_EQ(b.key_at, (Position{2, 1}));
  const YamlEntry& c = *b.value.find("c");
  EXPECT_EQ(c.key_at, (Position{3, 3}));
  ASSERT_EQ(c.value.items.size(), 2u);
  EXPECT_EQ(c.value.items[0].at, (Position{3, 7}));
  EXPECT_FALSE(c.value.items[0].quoted);
  EXPECT_TRUE(c.value.items[1].quoted);
  EXPECT_EQ(root.find("a")->value.scalar, "1");
}

TEST(YamlTree, DuplicateKeysAreReportedAtEveryDepth) {
  Problems problems("f");
  parse("a: 1\nb: {c: 1, d: {e: 1, e: 2}, c: 2}\na: 3\n", problems);
  EXPECT_THAT(problems.lines(), ElementsAre("f:2:21: key 'b.d.e' is given twice; first in line 2",
                                            "f:2:28: key 'b.c' is given twice; first in line 2",
                                            "f:3:1: key 'a' is given twice; first in line 1"));
}

TEST(YamlTree, AliasesComplexKeysAndFurtherDocumentsAreRefused) {
  Problems problems("f");
  const YamlNode root = parse("a: &x 1\nb: *x\n[c]: 2\nd: 3\n---\ne: 1\n", problems);
  EXPECT_THAT(problems.lines(), ElementsAre("f:2:4: aliases are not supported; write the value out",
                                            "f:3:1: a key must be plain text, is a list",
                                            "f:6:1: a second YAML document; a configuration is one document"));
  EXPECT_EQ(root.find("d")->value.scalar, "3");
}

TEST(YamlTree, DeepNestingIsRefusedAndDoesNotOverflowTheStack) {
  Problems problems("f");
  bool syntax_ok = true;
  parse_yaml(std::string(100'000, '['), problems, syntax_ok);
  EXPECT_FALSE(syntax_ok);
  EXPECT_FALSE(problems.empty());
}

TEST(YamlTree, RandomDamageGivesATreeOrProblemsAndNeverACrash) {
  const std::string text = "model: {kind: gpt, 'layers': 6}\ndata:\n  path: \"a\\n\"\n  list: [1, 2]\n# end\n";
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    Problems problems("f");
    bool syntax_ok = true;
    parse_yaml(damaged, problems, syntax_ok);
    EXPECT_TRUE(syntax_ok || !problems.empty());
  }
}

TEST(YamlTree, OverridesReplaceAndMakeSections) {
  Problems problems("f");
  YamlNode root = parse("a: {b: 1}\n", problems);
  apply_override("a.b=[1, 2]", root, problems);
  apply_override("c.d.e=x", root, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(root.find("a")->value.find("b")->value.items.size(), 2u);
  EXPECT_TRUE(root.find("a")->value.find("b")->value.at.from_command_line());
  EXPECT_EQ(root.find("c")->value.find("d")->value.find("e")->value.scalar, "x");
}

}  // namespace
}  // namespace tidemark::config
