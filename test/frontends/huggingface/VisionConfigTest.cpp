//===- VisionConfigTest.cpp - Configs of models that see images -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ReadConfig.h"
#include "frontends/huggingface/WriteConfig.h"
#include "frontends/spec/model/Sizes.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::huggingface;
using spec::LoadedSpec;
using spec::Model;

namespace {

// As llava-1.5-7b-hf is published: what a config leaves out is a default.
const char *const llava = R"({
  "architectures": ["LlavaForConditionalGeneration"],
  "ignore_index": -100, "image_token_index": 32000, "model_type": "llava",
  "pad_token_id": 32001, "projector_hidden_act": "gelu",
  "text_config": {
    "_name_or_path": "lmsys/vicuna-7b-v1.5",
    "architectures": ["LlamaForCausalLM"], "max_position_embeddings": 4096,
    "model_type": "llama", "rms_norm_eps": 1e-05, "torch_dtype": "float16",
    "vocab_size": 32064
  },
  "tie_word_embeddings": false, "torch_dtype": "float16",
  "vision_config": {
    "hidden_size": 1024, "image_size": 336, "intermediate_size": 4096,
    "model_type": "clip_vision_model", "num_attention_heads": 16,
    "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768,
    "vocab_size": 32000
  },
  "vision_feature_layer": -2, "vision_feature_select_strategy": "default",
  "vocab_size": 32064
})";

LoadedSpec readSight(const std::string &config) {
  StatusOr<LoadedSpec> loaded = parseConfig(config, "config.json");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : LoadedSpec();
}

std::string sightMessage(const std::string &key, const std::string &other) {
  std::string config = llava;
  size_t at = config.find(key);
  EXPECT_NE(at, std::string::npos) << key;
  StatusOr<LoadedSpec> loaded =
      parseConfig(config.replace(at, key.size(), other), "config.json");
  return loaded.ok() ? "accepted" : loaded.status().message();
}

Model sightOf(const std::string &more) {
  StatusOr<LoadedSpec> loaded = spec::parseSpec(
      "model { layers: 32 hidden: 4096 heads: 32 ffn: 11008 vocab_size: 32064 "
      "max_positions: 4096 norm: RMS_NORM activation: SWIGLU position: ROTARY "
      "bias: false tied_embeddings: false image_token: 32000 " +
          more + " } training { images_per_sequence: 1 }",
      "a.textproto");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? loaded->spec.model() : Model();
}

constexpr char tower[] = "vision { layers: 24 hidden: 1024 heads: 16 "
                         "image_size: 336 patch_size: 14 ";

} // namespace

TEST(VisionConfig, GivesTheSpecOneWouldWrite) {
  LoadedSpec loaded = readSight(llava);
  EXPECT_EQ(loaded.spec.model().DebugString(),
            sightOf(std::string(tower) + "}").DebugString());
  EXPECT_EQ(loaded.spec.training().images_per_sequence(), 1);
  // transformers counts as many.
  EXPECT_EQ(parameterCount(loaded.spec.model()).get(), 7063427072);
}

TEST(VisionConfig, IsWrittenAsItIsRead) {
  for (const char *more :
       {"", "select: ALL feature_layer: 20 projector_bias: false",
        "activation: GELU projector_activation: SILU norm_eps: 1e-6"}) {
    Model model = sightOf(std::string(tower) + more + "}");
    StatusOr<std::string> text = writeConfig(model);
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(readSight(*text).spec.model().DebugString(), model.DebugString());
    EXPECT_NE(text->find("\"model_type\": \"llava\""), std::string::npos);
    EXPECT_NE(text->find("\"model_type\": \"clip_vision_model\""),
              std::string::npos);
  }
}

TEST(VisionConfig, NamesWhatIsOther) {
  EXPECT_EQ(sightMessage("\"clip_vision_model\"", "\"siglip_vision_model\""),
            "config.json:14:5: H5: vision_config.model_type is "
            "\"siglip_vision_model\"; only \"clip_vision_model\" is supported");
  EXPECT_EQ(sightMessage("\"llama\"", "\"mistral\""),
            "config.json:8:5: H5: text_config.model_type is \"mistral\"; only "
            "\"llama\" is supported");
  EXPECT_EQ(sightMessage("\"default\"", "\"cls\""),
            "config.json:18:31: H5: vision_feature_select_strategy is \"cls\"; "
            "supported are \"default\" and \"full\"");
  EXPECT_EQ(sightMessage("-2", "[-2, -5]"),
            "config.json:18:3: H3: vision_feature_layer is a list; write a "
            "whole number");
  EXPECT_EQ(sightMessage("\"gelu\"", "\"mish\""),
            "config.json:4:26: H5: projector_hidden_act is \"mish\"; supported "
            "for llava are quick_gelu, gelu, gelu_pytorch_tanh, gelu_new, "
            "relu, relu2, silu or swish");
  EXPECT_EQ(sightMessage("\"patch_size\": 14,", ""),
            "config.json: H4: a llava config needs the key "
            "\"vision_config.patch_size\"");
  EXPECT_EQ(sightMessage("\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": true"),
            "config.json:8:28: H3: rms_norm_eps is true; write a number");
  EXPECT_EQ(sightMessage("\"tie_word_embeddings\": false",
                         "\"tie_word_embeddings\": true"),
            "config.json:11:3: H5: tie_word_embeddings is true, and that of "
            "text_config is not; write the same in both");
  EXPECT_EQ(sightMessage("\"image_size\": 336", "\"image_size\": 337"),
            "config.json:15:30: S106: patches of 14 pixels do not fill images "
            "of 337; write a divisor of image_size");
}

TEST(VisionConfig, SaysWhatNoFamilyHas) {
  StatusOr<std::string> text =
      writeConfig(sightOf(std::string(tower) + "} moe { experts: 4 }"));
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.status().message().find("llava, cannot express model.moe"),
            std::string::npos)
      << text.status().message();
}
