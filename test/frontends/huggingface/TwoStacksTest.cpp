//===- TwoStacksTest.cpp - Configs of an encoder and a decoder ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ReadConfig.h"
#include "frontends/huggingface/WriteConfig.h"
#include "frontends/spec/model/Sizes.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::huggingface;
using spec::LoadedSpec;
using spec::Model;

namespace {

// As t5-small is published.
const char *const t5Small = R"({
  "architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64,
  "d_model": 512, "decoder_start_token_id": 0, "dropout_rate": 0.1,
  "eos_token_id": 1, "initializer_factor": 1.0, "is_encoder_decoder": true,
  "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512,
  "num_heads": 8, "num_layers": 6, "output_past": true, "pad_token_id": 0,
  "relative_attention_num_buckets": 32, "vocab_size": 32128
})";

// As t5-v1_1-small is.
const char *const t5Gated = R"({
  "architectures": ["T5ForConditionalGeneration"], "d_ff": 1024, "d_kv": 64,
  "d_model": 512, "decoder_start_token_id": 0, "dropout_rate": 0.1,
  "eos_token_id": 1, "feed_forward_proj": "gated-gelu",
  "initializer_factor": 1.0, "is_encoder_decoder": true,
  "layer_norm_epsilon": 1e-06, "model_type": "t5", "num_decoder_layers": 8,
  "num_heads": 6, "num_layers": 8, "output_past": true, "pad_token_id": 0,
  "relative_attention_num_buckets": 32, "tie_word_embeddings": false,
  "vocab_size": 32128
})";

LoadedSpec readStacks(const std::string &config,
                      const std::vector<std::string> &overrides = {}) {
  spec::LoadOptions options;
  options.overrides = overrides;
  StatusOr<LoadedSpec> loaded = parseConfig(config, "config.json", options);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : LoadedSpec();
}

/// `config` with `more` keys before all others.
std::string withKey(const std::string &config, const std::string &more) {
  return "{" + more + ",\n" + config.substr(1);
}

std::string stacksMessage(const std::string &config) {
  StatusOr<LoadedSpec> loaded = parseConfig(config, "config.json");
  return loaded.ok() ? "accepted" : loaded.status().message();
}

Model modelOf(const std::string &model) {
  StatusOr<LoadedSpec> loaded = spec::parseSpec(
      "model { " + model +
          " } training { encoder_sequence_length: 512 span_corruption { } }",
      "a.textproto");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? loaded->spec.model() : Model();
}

constexpr char t5Dropout[] =
    "dropout { attention: 0.1 residual: 0.1 embedding: "
    "0.1 mlp: 0.1 final_norm: 0.1 } ";

} // namespace

TEST(TwoStacks, GiveTheSpecOneWouldWrite) {
  LoadedSpec loaded = readStacks(t5Small);
  EXPECT_EQ(
      loaded.spec.model().DebugString(),
      modelOf(std::string(t5Dropout) +
              "encoder { layers: 6 } layers: 6 hidden: 512 heads: 8 "
              "head_dim: 64 ffn: 2048 vocab_size: 32128 norm: RMS_NORM "
              "norm_eps: 1e-6 activation: RELU bias: false attention_scale: 1 "
              "position: RELATIVE logit_scale: 0.04419417382415922")
          .DebugString());
  EXPECT_EQ(parameterCount(loaded.spec.model()).get(), 60506624);
  const spec::Training &training = loaded.spec.training();
  EXPECT_EQ(training.encoder_sequence_length(), 512);
  EXPECT_EQ(training.sequence_length(), 114);
  EXPECT_EQ(training.span_corruption().first_sentinel(), 32099);
  EXPECT_EQ(training.span_corruption().end_token(), 1);
  EXPECT_EQ(training.span_corruption().pad_token(), 0);

  Model other = readStacks(t5Gated).spec.model();
  EXPECT_EQ(other.DebugString(),
            modelOf(std::string(t5Dropout) +
                    "encoder { layers: 8 } layers: 8 hidden: 512 heads: 6 "
                    "head_dim: 64 ffn: 1024 vocab_size: 32128 norm: RMS_NORM "
                    "norm_eps: 1e-6 activation: GEGLU_TANH bias: false "
                    "attention_scale: 1 position: RELATIVE tied_embeddings: "
                    "false")
                .DebugString());
  EXPECT_EQ(parameterCount(other).get(), 76961152);
}

TEST(TwoStacks, AreWrittenAsTheyAreRead) {
  for (const char *config : {t5Small, t5Gated}) {
    Model model = readStacks(config).spec.model();
    StatusOr<std::string> text = writeConfig(model);
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(readStacks(*text).spec.model().DebugString(),
              model.DebugString());
    EXPECT_NE(text->find("\"model_type\": \"t5\""), std::string::npos);
    EXPECT_NE(text->find("\"decoder_start_token_id\": 0"), std::string::npos);
  }
}

TEST(TwoStacks, NameTheTokensOfSequences) {
  LoadedSpec loaded = readStacks(withKey(t5Small, R"("a": 1)"),
                                 {"training.span_corruption.pad_token=7",
                                  "training.span_corruption.end_token=9"});
  StatusOr<std::string> text = writeConfig(
      loaded.spec.model(), "float32", loaded.spec.training().span_corruption());
  ASSERT_TRUE(text.ok()) << text.status().message();
  const spec::SpanCorruption again =
      readStacks(*text).spec.training().span_corruption();
  EXPECT_EQ(again.pad_token(), 7);
  EXPECT_EQ(again.end_token(), 9);
}

// transformers 5 writes that weights are shared of both, and the scale beside.
TEST(TwoStacks, TheScaleTellsVersionsApart) {
  std::string config = t5Gated;
  size_t at = config.find("\"tie_word_embeddings\": false");
  config.replace(at, std::string("\"tie_word_embeddings\": false").size(),
                 R"("tie_word_embeddings": true,
  "scale_decoder_outputs": false, "dense_act_fn": "gelu_new",
  "is_gated_act": true, "classifier_dropout": 0.0)");
  EXPECT_EQ(readStacks(config).spec.model().DebugString(),
            readStacks(t5Gated).spec.model().DebugString());
}

TEST(TwoStacks, AnMt5IsAT5WithAHeadOfItsOwn) {
  std::string config = t5Gated;
  config.replace(config.find("\"t5\""), 4, "\"mt5\"");
  config.replace(config.find("T5For"), 2, "MT5");
  LoadedSpec loaded = readStacks(config);
  EXPECT_EQ(loaded.spec.model().DebugString(),
            readStacks(t5Gated).spec.model().DebugString());
  StatusOr<std::string> family = familyOf(loaded.spec.model());
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(*family, "t5");
}

TEST(TwoStacks, TheTokenizerNamesTheFirstSentinel) {
  std::string folder = testing::TempDir() + "hocket_t5_config";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << t5Small;
  auto first = [&] {
    StatusOr<LoadedSpec> loaded = loadConfig(folder);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return loaded.ok()
               ? loaded->spec.training().span_corruption().first_sentinel()
               : -1;
  };
  EXPECT_EQ(first(), 32099);
  std::ofstream(folder + "/tokenizer_config.json")
      << R"({"added_tokens_decoder": {"0": {"content": "<pad>"},
             "x1": {"content": "<extra_id_0>"},
             "31000": {"content": "<extra_id_0>"}}})";
  EXPECT_EQ(first(), 31000);
  std::ofstream(folder + "/tokenizer.json")
      << R"({"added_tokens": [3, {"id": -1, "content": "<extra_id_0>"},
             {"id": 30000, "content": "<extra_id_0>"}]})";
  EXPECT_EQ(first(), 30000);
  std::ofstream(folder + "/tokenizer.json")
      << R"({"added_tokens": [{"id": 40000, "content": "<extra_id_0>"}]})";
  EXPECT_EQ(loadConfig(folder).status().message(),
            folder + "/tokenizer.json: S95: "
                     "training.span_corruption.first_sentinel is 40000; write "
                     "a token of the vocabulary, below 32128");
  std::ofstream(folder + "/tokenizer.json") << "{\"added_tokens\": [";
  EXPECT_EQ(loadConfig(folder).status().message().rfind(
                folder + "/tokenizer.json:1:", 0),
            0U);
}

TEST(TwoStacks, WhatTheyDoNotHaveIsRefused) {
  struct Case {
    const char *keys;
    const char *message;
  };
  for (const Case &c : {
           Case{R"("is_decoder": true)",
                "H5: is_decoder is true; only false is supported"},
           {R"("scale_decoder_outputs": true)",
            "H5: scale_decoder_outputs is true and tie_word_embeddings false; "
            "supported are both true, or both false"},
           {R"("dense_act_fn": "gelu")",
            "H5: dense_act_fn is \"gelu\", but feed_forward_proj is "
            "\"gated-gelu\"; write gelu_new"},
           {R"("is_gated_act": false)",
            "H5: is_gated_act is false, but feed_forward_proj is "
            "\"gated-gelu\"; write true"},
       })
    EXPECT_EQ(stacksMessage(withKey(t5Gated, c.keys)),
              "config.json:1:2: " + std::string(c.message));
  auto instead = [](const std::string &old, const std::string &by) {
    std::string config = t5Gated;
    config.replace(config.find(old), old.size(), by);
    std::string message = stacksMessage(config);
    return message.substr(message.find(": ") + 2);
  };
  EXPECT_EQ(
      instead("\"decoder_start_token_id\": 0", "\"decoder_start_token_id\": 2"),
      "H5: decoder_start_token_id is 2; a decoder begins with "
      "pad_token_id (0)");
  EXPECT_EQ(instead("T5ForConditionalGeneration", "T5EncoderModel"),
            "H5: architectures has \"T5EncoderModel\"; supported is "
            "T5ForConditionalGeneration");
  EXPECT_EQ(
      instead("\"is_encoder_decoder\": true", "\"is_encoder_decoder\": false"),
      "H5: is_encoder_decoder is false; only true is supported");
  EXPECT_EQ(instead("gated-gelu", "gated-relu"),
            "H5: feed_forward_proj is \"gated-relu\"; supported for t5 are "
            "relu, gated-gelu, gated-gelu_new, gated-silu, gated-swish, gelu, "
            "gelu_new, gelu_pytorch_tanh, relu2, silu or swish");
}

TEST(TwoStacks, WhatNoFamilyExpressesIsRefused) {
  const std::string usual =
      "encoder { layers: 2 } layers: 2 hidden: 8 heads: 2 vocab_size: 900 "
      "norm: RMS_NORM norm_eps: 1e-6 activation: RELU bias: false "
      "tied_embeddings: false ";
  for (const auto &[more, what] :
       {std::pair{"position: RELATIVE", "model.attention_scale"},
        {"position: NONE attention_scale: 1",
         "model.position or model.relative_position"},
        {"position: RELATIVE attention_scale: 1 logit_scale: 0.5",
         "model.logit_scale"},
        {"position: RELATIVE attention_scale: 1 kv_heads: 1",
         "model.kv_heads"}}) {
    StatusOr<std::string> family = familyOf(modelOf(usual + more));
    ASSERT_FALSE(family.ok()) << more;
    const std::string &message = family.status().message();
    const std::string wanted =
        std::string("the nearest, t5, cannot express ") + what;
    EXPECT_EQ(message.substr(message.find("the nearest")), wanted);
  }
}
