//===- ConfigTest.cpp - Hugging Face configs and the specs they give ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/Families.h"
#include "frontends/huggingface/ReadConfig.h"
#include "frontends/huggingface/WriteConfig.h"
#include "test/frontends/huggingface/ReadModel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace hocket;
using namespace hocket::huggingface;
using namespace hocket::test;
using spec::LoadedSpec;
using spec::Model;

namespace {

const char *const small =
    "\"hidden_size\": 8, \"num_attention_heads\": 2, \"vocab_size\": 5, "
    "\"num_hidden_layers\": 2, \"intermediate_size\": 8, "
    "\"max_position_embeddings\": 4";

std::string smallConfig(const std::string &type, const std::string &more) {
  return "{\"model_type\": \"" + type + "\", " + small + more + "}";
}

TEST(Config, AbsentKeysHaveTheFamilysDefaults) {
  Model mistral =
      read(smallConfig("mistral", ", \"num_key_value_heads\": 2")).spec.model();
  EXPECT_EQ(mistral.sliding_window(), 4096);
  EXPECT_FALSE(mistral.tied_embeddings());
  Model none = read(smallConfig("mistral", ", \"num_key_value_heads\": 1, "
                                           "\"sliding_window\": null"))
                   .spec.model();
  EXPECT_FALSE(none.has_sliding_window());
  EXPECT_EQ(none.kv_heads(), 1);
}

TEST(Config, NewerRopeParameters) {
  Model model =
      read(smallConfig("llama", ", \"rope_parameters\": {\"rope_theta\": 7, "
                                "\"rope_type\": \"linear\", \"factor\": 2}"))
          .spec.model();
  EXPECT_EQ(model.rope().theta(), 7);
  EXPECT_EQ(model.rope().scaling().linear().factor(), 2);
}

TEST(Config, AWindowInEveryLayer) {
  Model model = read(smallConfig("qwen2", ", \"num_key_value_heads\": 2, "
                                          "\"use_sliding_window\": true, "
                                          "\"max_window_layers\": 0, "
                                          "\"sliding_window\": 3, "
                                          "\"layer_types\": "
                                          "[\"sliding_attention\", "
                                          "\"sliding_attention\"]"))
                    .spec.model();
  EXPECT_EQ(model.sliding_window(), 3);
  StatusOr<std::string> family = familyOf(model);
  ASSERT_TRUE(family.ok());
  EXPECT_EQ(*family, "qwen2");
}

/// As transformers' Gemma2Config and Gemma3TextConfig have it.
TEST(Config, WindowsByPatternHaveAUsualWidth) {
  for (const char *family : {"gemma2", "gemma3_text"}) {
    auto windowsOf = [&](const std::string &more) {
      return read("{\"model_type\": \"" + std::string(family) + R"(",
        "vocab_size": 64, "max_position_embeddings": 64, "hidden_size": 16,
        "num_hidden_layers": 6, "num_attention_heads": 2, "head_dim": 8,
        "num_key_value_heads": 1, "intermediate_size": 32)" +
                  more + "}")
          .spec.model();
    };
    spec::Model usual = windowsOf("");
    ASSERT_EQ(usual.layer_kinds_size(), 2) << family;
    EXPECT_EQ(usual.layer_kinds(0).sliding_window(), 4096) << family;
    EXPECT_EQ(
        windowsOf(", \"sliding_window\": 8").layer_kinds(0).sliding_window(),
        8);
    EXPECT_EQ(windowsOf(", \"sliding_window\": null").layer_kinds_size(), 0);
  }
}

TEST(Config, DenseLayersBeforeTheExperts) {
  Model model = read(smallConfig("qwen3_moe", ", \"num_key_value_heads\": 1, "
                                              "\"num_local_experts\": 4, "
                                              "\"num_experts_per_tok\": 2, "
                                              "\"moe_intermediate_size\": 3, "
                                              "\"mlp_only_layers\": [0]"))
                    .spec.model();
  EXPECT_EQ(model.moe().first_dense_layers(), 1);
  EXPECT_EQ(model.moe().experts(), 4);
  EXPECT_FALSE(model.moe().renormalise());
  StatusOr<std::string> written = writeConfig(model);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(read(*written).spec.model().moe().DebugString(),
            model.moe().DebugString());
}

TEST(Config, WhatBalancesOnlyInTrainingDoesNotMatter) {
  Model model = readSpec("layers: 1 hidden: 8 heads: 2 vocab_size: 5 "
                         "max_positions: 4 norm: RMS_NORM position: ROTARY "
                         "activation: SWIGLU bias: false ffn: 6 moe { experts: "
                         "4 aux_loss: 0.5 z_loss: 0.5 }")
                    .spec.model();
  StatusOr<std::string> family = familyOf(model);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "mixtral");
  model.mutable_moe()->set_capacity_factor(1);
  EXPECT_EQ(familyOf(model).status().message(),
            "H6: no family of Hugging Face that is supported (" +
                supportedFamilies() +
                ") "
                "expresses this model; "
                "the nearest, mixtral, cannot express model.moe");
}

TEST(Config, AnEncoderThatIsNoBertIsRefused) {
  for (auto [more, what] :
       {std::pair{"norm: RMS_NORM position: ROTARY bias: false",
                  "model.norm, model.norm_position"},
        {"moe { experts: 4 } mlp_bias: false", "model.norm_position"}}) {
    Model model = readSpec("layers: 1 hidden: 8 heads: 2 vocab_size: 200 "
                           "max_positions: 16 attention_mask: BIDIRECTIONAL " +
                           std::string(more))
                      .spec.model();
    StatusOr<std::string> family = familyOf(model);
    ASSERT_FALSE(family.ok());
    EXPECT_NE(family.status().message().find(
                  std::string("the nearest, bert, cannot express ") + what),
              std::string::npos)
        << family.status().message();
  }
}

TEST(Config, TheVocabularyNamesTheTokensOfMaskedSamples) {
  std::string folder = testing::TempDir() + "hocket_bert_config";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json")
      << R"({"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2,
             "vocab_size": 6, "num_hidden_layers": 2, "intermediate_size": 8,
             "max_position_embeddings": 16})";
  std::ofstream(folder + "/vocab.txt") << "[MASK]\nword\n[PAD]\r\n[SEP]\n";
  EXPECT_EQ(loadConfig(folder).status().message(),
            folder + "/config.json: S81: training.masked_lm.cls_token is 101; "
                     "write a token of the vocabulary, below 6");
  std::ofstream(folder + "/vocab.txt")
      << "[MASK]\nword\n[PAD]\r\n[SEP]\n##s\n[CLS]\n";
  StatusOr<LoadedSpec> loaded = loadConfig(folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const spec::MaskedLm &masked = loaded->spec.training().masked_lm();
  EXPECT_EQ(masked.mask_token(), 0);
  EXPECT_EQ(masked.pad_token(), 2);
  EXPECT_EQ(masked.sep_token(), 3);
  EXPECT_EQ(masked.cls_token(), 5);
}

TEST(Config, LocationsPointIntoTheConfig) {
  StatusOr<LoadedSpec> loaded = parseConfig(
      "{\n  \"model_type\": \"llama\",\n  " + std::string(small) + "\n}",
      "m/config.json");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->locations.find("model.hidden").str(), "m/config.json:3:3");
  EXPECT_EQ(loaded->locations.find("model.heads").str(), "m/config.json:3:21");
}

TEST(Config, FoldersAndOverrides) {
  std::string folder = testing::TempDir() + "hocket_config";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << smallConfig("llama", "");
  StatusOr<LoadedSpec> loaded =
      loadConfig(folder, {"", {"training.steps=3", "model.layers=1"}});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->spec.model().layers(), 1);
  EXPECT_EQ(loaded->spec.training().sequence_length(), 4);
  StatusOr<LoadedSpec> absent = loadConfig(folder + "/absent");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.status().message(),
            folder + "/absent/config.json: there is no such file");
  std::filesystem::create_directories(folder + "/other");
  std::ofstream(folder + "/other/spec.textproto") << "name: 'other'";
  EXPECT_EQ(loadConfig(folder + "/other").status().message(),
            folder + "/other/config.json: there is no such file; is it " +
                folder + "/other/spec.textproto that you mean?");
}

TEST(Config, WhatNoFamilyExpressesIsRefused) {
  struct Case {
    const char *more;
    const char *message;
  };
  const std::string prefix =
      "H6: no family of Hugging Face that is supported (" +
      supportedFamilies() +
      ") "
      "expresses this model; the nearest, ";
  const Case cases[] = {
      {"norm_position: POST", "gpt2, cannot express model.norm_position"},
      {"position: NONE", "gpt2, cannot express model.position"},
      {"norm: RMS_NORM position: ROTARY activation: SWIGLU bias: false "
       "qk_norm: true attention_scale: 0.25 sliding_window: 2 mlp_bias: true",
       "qwen3, cannot express model.mlp_bias or model.attention_scale"},
  };
  for (const Case &c : cases) {
    Model model = readSpec("layers: 1 hidden: 8 heads: 2 vocab_size: 5 "
                           "max_positions: 4 " +
                           std::string(c.more))
                      .spec.model();
    StatusOr<std::string> written = writeConfig(model);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.status().message(), prefix + c.message);
  }
}

Model readStates(const std::string &more) {
  return readSpec("layers: 2 hidden: 8 vocab_size: 5 max_positions: 4 norm: "
                  "RMS_NORM bias: false " +
                  more)
      .spec.model();
}

TEST(Config, SizesOfWhatAStateSpaceModelLacksDoNotMatter) {
  Model model = readStates(
      "heads: 4 kv_heads: 2 ffn: 9 qk_norm: true activation: GEGLU position: "
      "ROTARY sliding_window: 2 state_space { head_dim: 4 step_least: 0.25 } "
      "layer_kinds { name: 'm' mixer: MAMBA2 feed_forward: NO_FEED_FORWARD } "
      "pattern: 'm'");
  StatusOr<std::string> written = writeConfig(model);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_NE(written->find("\"model_type\": \"mamba2\""), std::string::npos);
  Model again = read(*written).spec.model();
  EXPECT_EQ(again.state_space().DebugString(),
            model.state_space().DebugString());
  Model hybrid = readStates("state_space { head_dim: 4 } activation: SWIGLU "
                            "position: NONE layer_kinds { name: 'm' mixer: "
                            "MAMBA2 } pattern: 'm'");
  StatusOr<std::string> family = familyOf(hybrid);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "bamba");
  // Nemotron-H does not say the width a second time.
  Model narrow = readStates(
      "state_space { head_dim: 3 heads: 4 } position: "
      "NONE tied_embeddings: false layer_kinds { name: 'm' mixer: MAMBA2 "
      "feed_forward: NO_FEED_FORWARD } pattern: 'm'");
  family = familyOf(narrow);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "nemotron_h");
}

TEST(Config, StateSpacesThatNoFamilyHasAreRefused) {
  const std::string alone = "layer_kinds { name: 'm' mixer: MAMBA2 "
                            "feed_forward: NO_FEED_FORWARD } pattern: 'm'";
  const std::string mixed =
      "heads: 2 activation: SWIGLU state_space { head_dim: 4 } layer_kinds { "
      "name: 'm' mixer: MAMBA2 } layer_kinds { name: 'a' ";
  for (const auto &[more, what] : {
           std::pair{"position: NONE state_space { head_dim: 4 norm_groups: 2 "
                     "} " +
                         alone,
                     "mamba2, cannot express model.state_space"},
           {"position: LEARNED state_space { head_dim: 4 } " + alone,
            "mamba2, cannot express model.max_positions or model.position"},
           {"position: ROTARY " + mixed +
                "feed_forward: NO_FEED_FORWARD } pattern: 'm a'",
            "bamba, cannot express model.layer_kinds"},
           {"position: NONE " + mixed + "} pattern: 'm a'",
            "bamba, cannot express model.layer_kinds"},
           {"position: ROTARY " + mixed +
                "feed_forward: EXPERTS } moe { experts: 4 } pattern: 'm a'",
            "bamba, cannot express model.moe or model.layer_kinds"},
       }) {
    Model model = readStates(more);
    StatusOr<std::string> family = familyOf(model);
    ASSERT_FALSE(family.ok()) << *family;
    EXPECT_NE(
        family.status().message().find("the nearest, " + std::string(what)),
        std::string::npos)
        << family.status().message();
  }
}

TEST(Config, PaddingAndInitialisersDoNotMatter) {
  Model model = readSpec("layers: 1 hidden: 8 heads: 2 vocab_size: 5 "
                         "max_positions: 4 vocab_padding: 8 dropout { "
                         "residual: 0.5 } initializer { stddev: 1 }")
                    .spec.model();
  StatusOr<std::string> family = familyOf(model);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "gpt2");
}

} // namespace
