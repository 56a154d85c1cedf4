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
       "write model.position: LEARNED, and in a kind ROTARY, NONE or "
       "ALIBI"},
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

/// Of a model whose layers are of state spaces, the rules it breaks.
std::string stateErrorOf(const std::string &space, const std::string &rest,
                         const std::string &more = "") {
  StatusOr<LoadedSpec> loaded = parseSpec(
      "model { layers: 4 hidden: 8 vocab_size: 5 max_positions: 4 position: "
      "NONE layer_kinds { name: \"m\" mixer: MAMBA2 } " +
          (more.empty() ? "pattern: \"m\" " : more) + space + " } " + rest,
      "a");
  return loaded.ok() ? "fine" : loaded.status().message();
}

TEST(BadStateSpaces, AreExplained) {
  const std::string space = "state_space { heads: 6 head_dim: 4 groups: 2 }";
  const std::string both = "heads: 6 head_dim: 2 kv_heads: 3 layer_kinds { "
                           "name: \"a\" } pattern: \"m a\" ";
  EXPECT_EQ(stateErrorOf(space, ""), "fine");
  EXPECT_EQ(stateErrorOf(space, "plan { tensor_parallel: 6 }"), "fine");
  EXPECT_EQ(stateErrorOf("", ""),
            "a:1:75: S84: layers with mixer: MAMBA2 have the sizes of "
            "model.state_space; write it");
  EXPECT_EQ(stateErrorOf("state_space { heads: 6 groups: 4 }", ""),
            "a:1:151: S85: model.state_space.groups is 4, which does not "
            "divide model.state_space.heads (6); write 3");
  EXPECT_EQ(stateErrorOf("state_space { heads: 6 norm_groups: 5 }", ""),
            "a:1:151: S85: model.state_space.norm_groups is 5, which does not "
            "divide model.state_space.heads (6); write 6");
  EXPECT_EQ(stateErrorOf("state_space { }", ""),
            "a:1:128: S85: model.state_space.head_dim does not divide 2 * "
            "model.hidden; write model.state_space.heads");
  EXPECT_EQ(stateErrorOf(
                "state_space { heads: 6 step_least: 0.2 step_most: 0.1 }", ""),
            "a:1:167: S85: model.state_space.step_most is 0.1; write more than "
            "step_least (0.2)");
  EXPECT_EQ(stateErrorOf(space, "plan { tensor_parallel: 4 }"),
            "a:1:184: S86: plan.tensor_parallel is 4, which does not divide "
            "model.state_space.heads (6); write one of its divisors");
  EXPECT_EQ(stateErrorOf("state_space { heads: 6 groups: 2 }",
                         "plan { tensor_parallel: 3 }"),
            "a:1:172: S86: plan.tensor_parallel is 3, which "
            "model.state_space.groups (2) neither divides nor is a multiple "
            "of; write one that is");
  EXPECT_EQ(stateErrorOf(space, "plan { tensor_parallel: 6 }", both),
            "a:1:245: S87: plan.tensor_parallel is 6, over which "
            "model.kv_heads (3) and model.state_space.groups (2) are not split "
            "alike; write one that divides both");
  EXPECT_EQ(stateErrorOf(space, "plan { context_parallel: 4 }"),
            "a:1:184: S88: plan.context_parallel is 4, which does not divide "
            "the 2 groups of state-space layers that a tensor rank has; write "
            "one of their divisors");
  EXPECT_EQ(
      stateErrorOf("state_space { heads: 6 }", "plan { context_parallel: 4 }"),
      "a:1:162: S88: plan.context_parallel is 4, which does not divide "
      "the 6 heads of state-space layers that a tensor rank has; write "
      "one of their divisors");
  EXPECT_EQ(stateErrorOf(space, "training { data { eod_token: 1 "
                                "reset_attention_mask: true } }"),
            "a:1:208: S89: state-space layers carry their states from document "
            "to document; leave reset_attention_mask out");
  EXPECT_EQ(
      stateErrorOf(space, "training { precision: BF16 fp8_format: HYBRID }"),
      "a:1:204: S89: models with state-space layers are not trained in 8 bits "
      "yet; leave fp8_format out");
  EXPECT_EQ(stateErrorOf(space, "training { lora { targets: QUERY } }"),
            "a:1:195: S73: training.lora.targets has QUERY, and no layer of "
            "the model attends; leave it out");
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
