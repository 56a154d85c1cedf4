//===- LayerPatternTest.cpp - Layers by kind ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/LayerPattern.h"

#include "frontends/spec/LoadSpec.h"

#include <gtest/gtest.h>

#include <string>

using namespace hocket;
using namespace hocket::spec;

namespace {

Model patternModelOf(const std::string &more) {
  StatusOr<LoadedSpec> loaded =
      parseSpec("model { hidden: 8 heads: 2 vocab_size: 5 max_positions: 4 " +
                    more + " }",
                "a.textproto");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? loaded->spec.model() : Model();
}

/// The functions of the layers of a model with kinds `a`, `b` and `c`.
std::string functionsOf(int64_t layers, const std::string &pattern,
                        const std::string &kinds = "abc") {
  std::string text =
      "layers: " + std::to_string(layers) + " pattern: \"" + pattern + "\"";
  for (char name : kinds)
    text += std::string(" layer_kinds { name: \"") + name + "\" }";
  LayerPattern result(patternModelOf(text));
  std::string names;
  for (int64_t i = 0; i < layers; ++i)
    names += result[i].function.substr(0, 1);
  return names;
}

TEST(LayerPattern, RepeatsNamesAndGroups) {
  EXPECT_EQ(functionsOf(3, "a b c"), "abc");
  EXPECT_EQ(functionsOf(6, "a*2 b*3 c"), "aabbbc");
  EXPECT_EQ(functionsOf(7, "(a b)*2  c*3"), "ababccc");
  EXPECT_EQ(functionsOf(9, "((a b)*2 c)*1 (b)*4"), "ababcbbbb");
  EXPECT_EQ(functionsOf(4, " a\\tb\\n(c) * 2"), "abcc");
}

TEST(LayerPattern, BeginsAnewUntilAllLayersHaveAKind) {
  EXPECT_EQ(functionsOf(8, "a*2 b", "ab"), "aabaabaa");
  EXPECT_EQ(functionsOf(5, "a", "a"), "aaaaa");
}

std::string layersErrorOf(const std::string &fields) {
  StatusOr<LoadedSpec> loaded = parseSpec(
      "model { layers: 4 hidden: 8 heads: 2 vocab_size: 5 max_positions: 4\n" +
          fields + " }",
      "a");
  return loaded.ok() ? "fine" : loaded.status().message();
}

struct BadPattern {
  const char *pattern;
  const char *message;
};

class BadPatterns : public testing::TestWithParam<BadPattern> {};

TEST_P(BadPatterns, AreExplained) {
  EXPECT_EQ(
      layersErrorOf("pattern: \"" + std::string(GetParam().pattern) +
                    "\" layer_kinds { name: \"local\" } layer_kinds { name: "
                    "\"global\" }"),
      std::string("a:2:1: S50: ") + GetParam().message);
}

const std::string deepPattern = std::string(17, '(') + "local";

INSTANTIATE_TEST_SUITE_P(
    All, BadPatterns,
    testing::Values(
        BadPattern{"", "model.pattern ends where a kind of layer is expected; "
                       "write local or global"},
        BadPattern{"locl global", "model.pattern names the kind \"locl\"; "
                                  "model.layer_kinds has local or global"},
        BadPattern{"local (global", "model.pattern has a parenthesis that is "
                                    "not closed"},
        BadPattern{"local) global",
                   "model.pattern has a \")\" that nothing opens"},
        BadPattern{"local () global",
                   "model.pattern has \")\" where a kind of layer is expected; "
                   "write local or global"},
        BadPattern{"local*0 global", "model.pattern has \"*0\"; write how "
                                     "often, as in local*3"},
        BadPattern{"local*-1 global", "model.pattern has \"*-1\"; write how "
                                      "often, as in local*3"},
        BadPattern{"local*2x", "model.pattern has \"*2x\"; write how often, as "
                               "in local*3"},
        BadPattern{"local* global*3",
                   "model.pattern has \"*global\"; write how often, as in "
                   "local*3"},
        BadPattern{"local*2 global*3",
                   "model.pattern has more layers than model.layers (4); write "
                   "a shorter pattern, or more layers"},
        BadPattern{"(local*4)*99999999999999999999",
                   "model.pattern has more layers than model.layers (4); write "
                   "a shorter pattern, or more layers"},
        BadPattern{"local*4",
                   "no layer is of the kind \"global\"; name it in "
                   "model.pattern, or leave it out of model.layer_kinds"},
        BadPattern{deepPattern.c_str(),
                   "model.pattern has parentheses more than 16 deep"}));

TEST(BadKinds, AreExplained) {
  const std::pair<const char *, const char *> cases[] = {
      {"pattern: \"a\"", "a:2:1: S50: model.pattern has no kinds to name; "
                         "write model.layer_kinds"},
      {"layer_kinds { name: \"a\" }",
       "a:2:1: S50: model.layer_kinds has no use without a pattern; write "
       "model.pattern"},
      {"pattern: \"a\" layer_kinds { }",
       "a:2:14: S49: the name of a kind of layer has 1 to 64 small letters, "
       "digits and \"_\", a letter first; write one in model.layer_kinds[0]"},
      {"pattern: \"a\" layer_kinds { name: \"A b\" }",
       "a:2:28: S49: the name of a kind of layer has 1 to 64 small letters, "
       "digits and \"_\", a letter first; write one in model.layer_kinds[0]"},
      {"pattern: \"a\" layer_kinds { name: \"a\" } layer_kinds { name: \"a\" }",
       "a:2:54: S49: model.layer_kinds has two of the name \"a\"; write "
       "another"},
      {"pattern: \"a\" layer_kinds { name: \"a\" position: LEARNED }",
       "a:2:38: S49: learned positions are added once, before all layers; "
       "write model.position: LEARNED, and in a kind ROTARY or NONE"},
      {"pattern: \"a\" layer_kinds { name: \"a\" mixer: NO_MIXER feed_forward: "
       "NO_FEED_FORWARD }",
       "a:2:14: S49: model.layer_kinds[0] has neither a mixer nor a "
       "feed-forward branch; write one of them"},
      {"pattern: \"a\" layer_kinds { name: \"a\" mixer: NO_MIXER }",
       "a:2:1: S50: no layer mixes tokens; name a kind with a mixer"},
      {"pattern: \"a\" layer_kinds { name: \"a\" feed_forward: EXPERTS }",
       "a:2:38: S49: model.layer_kinds[0] has experts, and the model has no "
       "moe; write model.moe, or feed_forward: DENSE"},
      {"pattern: \"a\" layer_kinds { name: \"a\" } mlp_bias: false moe { "
       "experts: 2 }",
       "a:2:56: S49: no layer has experts; write feed_forward: EXPERTS in one "
       "of model.layer_kinds"},
      {"pattern: \"a\" layer_kinds { name: \"a\" feed_forward: EXPERTS } "
       "mlp_bias: false moe { experts: 2 interval: 2 }",
       "a:2:78: S49: model.layer_kinds say which layers have experts; leave "
       "first_dense_layers and interval out"},
      {"pattern: \"a\" layer_kinds { name: \"a\" sliding_window: -1 }",
       "a:2:38: S4: model.layer_kinds[0].sliding_window is -1; write a number "
       "from 0 to 2147483647"},
      {"pattern: \"a\" layer_kinds { name: \"a\" rope { } }",
       "a:2:38: S8: model.layer_kinds[0].rope has no use with position: "
       "LEARNED; write position: ROTARY, or leave rope out"},
      {"pattern: \"a\" layer_kinds { name: \"a\" position: ROTARY rope { "
       "theta: "
       "0.5 } }",
       "a:2:62: S10: model.layer_kinds[0].rope.theta is 0.5; write a number of "
       "at least 1 and at most 1e+12"},
  };
  for (auto [fields, message] : cases)
    EXPECT_EQ(layersErrorOf(fields), message);
}

TEST(LayerPattern, KindsSeeTheirOwnFields) {
  Model model = patternModelOf(
      "layers: 3 ffn: 12 sliding_window: 3 position: ROTARY rope { theta: 7 "
      "scaling { linear { factor: 2 } } } "
      "layer_kinds { name: \"plain\" } "
      "layer_kinds { name: \"wide\" ffn: 20 sliding_window: 0 rope { } } "
      "layer_kinds { name: \"nope\" position: NONE } "
      "pattern: \"plain wide nope\"");
  LayerPattern layers(model);
  EXPECT_EQ(layers[0].window(), 3);
  EXPECT_EQ(layers[0].model.rope().scaling().linear().factor(), 2);
  EXPECT_EQ(layers[1].model.ffn(), 20);
  EXPECT_EQ(layers[1].window(), 0);
  EXPECT_EQ(layers[1].model.rope().theta(), 10000);
  EXPECT_FALSE(layers[1].model.rope().has_scaling());
  EXPECT_FALSE(layers[2].isRotary());
  EXPECT_EQ(layers[2].branches, 6);
}

} // namespace
