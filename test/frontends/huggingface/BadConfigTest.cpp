//===- BadConfigTest.cpp - Wrong configs, and what is said about them -----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/Families.h"
#include "frontends/huggingface/ReadConfig.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::huggingface;

namespace {

std::string messageOf(const std::string &config) {
  StatusOr<spec::LoadedSpec> loaded = parseConfig(config, "config.json");
  if (loaded.ok())
    return "accepted";
  EXPECT_EQ(loaded.status().code(), StatusCode::InvalidArgument);
  return loaded.status().message();
}

struct BadConfig {
  const char *config;
  const char *message;
};

class BadConfigs : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigs, AreExplained) {
  std::string message = GetParam().message;
  if (size_t at = message.find("{families}"); at != std::string::npos)
    message.replace(at, 10, supportedFamilies());
  EXPECT_EQ(messageOf(GetParam().config), message);
}

const BadConfig badConfigs[] = {
    {"", "config.json:1:1: H1: is not JSON: expected a value"},
    {"{", "config.json:1:2: H1: is not JSON: expected a string"},
    {"[]",
     "config.json: H1: is not a JSON object; write {\"model_type\": ...}"},
    {"null",
     "config.json: H1: is not a JSON object; write {\"model_type\": ...}"},
    {"{\"model_type\": \"llama\",}",
     "config.json:1:24: H1: is not JSON: expected a string"},
    {"{\"model_type\": \"llama\"} x",
     "config.json:1:25: H1: is not JSON: expected the end of the text"},
    {"{}",
     "config.json: H2: there is no \"model_type\"; supported are {families}"},
    {"{\"model_type\": null}",
     "config.json: H2: there is no \"model_type\"; supported are {families}"},
    {"{\"model_type\": 3}", "config.json:1:2: H2: model_type is 3; supported "
                            "are {families}"},
    {"{\"model_type\": \"umt5\"}",
     "config.json:1:2: H2: model_type is \"umt5\"; supported are {families}"},
    {"{\"model_type\": \"bert\", \"is_decoder\": true}",
     "config.json: H4: a bert config needs the key \"vocab_size\""},
    {"{\n \"model_type\": \"llama\",\n \"a\": 1, \"model_type\": \"gpt2\"\n}",
     "config.json:3:10: H1: the key \"model_type\" is there twice"},
    {"{\"model_type\": \"llama\", \"a\": {\"b\": 1, \"b\": 2}}",
     "config.json:1:39: H1: the key \"a.b\" is there twice"},
    {"{\"model_type\": \"ll\377ma\"}",
     "config.json:1:19: H1: is not JSON: not valid UTF-8"},
    {"{\"model_type\": \"gpt2\", \"a\": 123456789012345678901234567890}",
     "config.json: H1: is not JSON: Problem while parsing a number"},
    {"{\"model_type\": \"gpt2\", \"a\": NaN}",
     "config.json:1:29: H1: is not JSON: expected a value"},
    {"{\"model_type\": \"gpt2\", \"n_embd\": 8}",
     "config.json: H4: a gpt2 config needs the key \"vocab_size\""},
    {"{\"model_type\": \"gpt2\", \"vocab_size\": 5, \"n_positions\": 4, "
     "\"n_embd\": 9, \"n_layer\": 1, \"n_head\": 2}",
     "config.json:1:86: S5: model.heads is 2, which does not divide "
     "model.hidden (9); write 1, or model.head_dim as well"},
    {"{\"model_type\": \"gpt2\", \"vocab_size\": 5, \"n_positions\": 4, "
     "\"n_embd\": 8, \"n_layer\": 1, \"n_head\": 2, \"activation_function\": "
     "\"mish\"}",
     "config.json:1:99: H5: activation_function is \"mish\"; supported for "
     "gpt2 are gelu_new, gelu_pytorch_tanh, gelu, relu, relu2, silu or swish"},
    {"{\"model_type\": \"gpt2\", \"scale_attn_by_inverse_layer_idx\": true}",
     "config.json:1:24: H5: scale_attn_by_inverse_layer_idx is true; only "
     "false is supported"},
    {"{\"model_type\": \"mixtral\", \"vocab_size\": 5, "
     "\"max_position_embeddings\": 4, \"hidden_size\": 8, "
     "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
     "\"intermediate_size\": 8}",
     "config.json: H4: a mixtral config needs the key \"num_local_experts\""},
    {"{\"model_type\": \"gpt2\", \"vocab_size\": null}",
     "config.json: H4: a gpt2 config needs the key \"vocab_size\""},
};
INSTANTIATE_TEST_SUITE_P(All, BadConfigs, testing::ValuesIn(badConfigs));

/// A small config of `type` with `more` keys on a second line.
std::string withKeys(const std::string &type, const std::string &more) {
  return "{\"model_type\": \"" + type +
         "\", \"hidden_size\": 8, \"num_attention_heads\": 2, "
         "\"num_key_value_heads\": 2, \"vocab_size\": 5, "
         "\"num_hidden_layers\": 2, \"intermediate_size\": 8, "
         "\"max_position_embeddings\": 4,\n" +
         more + "}";
}

struct BadKey {
  const char *type;
  const char *keys;
  const char *message; ///< After "config.json:2:1: ".
};

class BadKeys : public testing::TestWithParam<BadKey> {};

TEST_P(BadKeys, AreExplained) {
  EXPECT_EQ(messageOf(withKeys(GetParam().type, GetParam().keys)),
            std::string("config.json:2:1: ") + GetParam().message);
}

const BadKey badKeys[] = {
    {"llama", "\"head_dim\": 4.5", "H3: head_dim is 4.5; write a whole number"},
    {"llama", "\"head_dim\": \"4\"",
     "H3: head_dim is \"4\"; write a whole number"},
    {"llama", "\"head_dim\": 0",
     "S4: model.head_dim is 0; write a number from 1 to 512"},
    {"llama", "\"head_dim\": 18446744073709551615",
     "H3: head_dim is 18446744073709551616; write a whole number"},
    {"llama", "\"rms_norm_eps\": \"small\"",
     "H3: rms_norm_eps is \"small\"; write a number"},
    {"llama", "\"rms_norm_eps\": -1e-5",
     "S10: model.norm_eps is -1e-05; write a number above 0 and at most 1"},
    {"llama", "\"attention_bias\": 1",
     "H3: attention_bias is 1; write true or false"},
    {"llama", "\"hidden_act\": \"swiglu\"",
     "H5: hidden_act is \"swiglu\"; supported for llama are silu, swish, "
     "gelu, gelu_pytorch_tanh or gelu_new"},
    {"llama", "\"hidden_act\": [\"silu\"]",
     "H3: hidden_act is a list; write a name"},
    {"llama", "\"rope_scaling\": {\"type\": \"longrope\", \"factor\": 4.0}",
     "H5: rope_scaling is of type \"longrope\"; supported are default, linear, "
     "dynamic, llama3 or yarn"},
    {"llama",
     "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"mscale\": 1}",
     "H5: rope_scaling.mscale is not supported; write attention_factor, or "
     "leave it out"},
    {"phi3", "\"rope_scaling\": {\"type\": \"longrope\"}",
     "H5: rope_scaling is of type \"longrope\"; supported for phi3 is default"},
    {"phi3", "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4.0}",
     "H5: rope_scaling is of type \"yarn\"; supported for phi3 is default"},
    {"olmoe", "\"clip_qkv\": 8.0, \"num_experts\": 4",
     "H5: clip_qkv is 8; only null is supported"},
    {"falcon", "\"alibi\": true", "H5: alibi is true; only false is supported"},
    {"falcon", "\"parallel_attn\": false",
     "H5: parallel_attn is false; only true is supported"},
    {"falcon", "\"num_ln_in_parallel_attn\": 2",
     "H5: num_ln_in_parallel_attn is 2; supported are 1"},
    {"falcon",
     "\"num_ln_in_parallel_attn\": 3, \"new_decoder_architecture\": true",
     "H5: num_ln_in_parallel_attn is 3; supported are 1 and 2"},
    {"cohere", "\"use_qk_norm\": true",
     "H5: use_qk_norm is true; only false is supported"},
    {"olmo3", "\"rope_parameters\": {\"rope_theta\": 500000}",
     "H5: rope_parameters has neither full_attention nor sliding_attention; "
     "write the rope of each"},
    {"exaone4", "\"sliding_window_pattern\": \"LG\"",
     "H3: sliding_window_pattern is \"LG\"; write a whole number"},
    {"llama", "\"rope_scaling\": \"linear\"",
     "H3: rope_scaling is \"linear\"; write an object"},
    {"llama", "\"rope_scaling\": {\"factor\": 2}",
     "H4: rope_scaling needs the key \"rope_type\""},
    {"llama", "\"rope_scaling\": {\"rope_type\": \"linear\"}",
     "H4: rope_scaling of type linear needs the key \"factor\""},
    {"llama", "\"quantization_config\": {\"bits\": 4}",
     "H5: a quantized model cannot be trained; use the config of the model it "
     "was made from"},
    {"llama", "\"partial_rotary_factor\": 0.5",
     "H5: partial_rotary_factor is 0.5; only 1 is supported"},
    {"llama", "\"attention_dropout\": 1.5",
     "S10: model.dropout.attention is 1.5; write a number of at least 0 and "
     "below 1"},
    {"qwen2", "\"use_sliding_window\": true, \"sliding_window\": 2",
     "H4: use_sliding_window needs the key \"max_window_layers\", a whole "
     "number"},
    {"qwen3", "\"layer_types\": [\"full_attention\", \"sliding_attention\"]",
     "H4: layer_types has \"sliding_attention\", and the config no window that "
     "is used; write sliding_window and use_sliding_window: true"},
    {"qwen3", "\"layer_types\": [\"full_attention\"]",
     "H5: layer_types has 1 entries for 2 layers; write one for each"},
    {"qwen3", "\"layer_types\": [\"full_attention\", \"chunked_attention\"]",
     "H5: layer_types has \"chunked_attention\"; supported are full_attention "
     "or sliding_attention"},
    {"llama", "\"layer_types\": [\"full_attention\", \"sliding_attention\"]",
     "H5: layer_types has \"sliding_attention\", but every layer of this "
     "config must be \"full_attention\""},
    {"smollm3", "\"no_rope_layers\": [1, 0, 1]",
     "H5: no_rope_layers has 3 entries for 2 layers; write one for each"},
    {"smollm3", "\"no_rope_layer_interval\": 0",
     "H3: no_rope_layer_interval is 0; write a number of layers above 0"},
    {"gemma3_text", "\"attn_logit_softcapping\": 50.0",
     "H5: attn_logit_softcapping is 50; only null is supported"},
    {"llama", "\"final_logit_softcapping\": 30.0",
     "H5: final_logit_softcapping is 30; only null is supported"},
    {"bloom", "\"apply_residual_connection_post_layernorm\": true",
     "H5: apply_residual_connection_post_layernorm is true; only false is "
     "supported"},
    {"gemma2", "\"attn_logit_softcapping\": 0",
     "S10: model.attention_softcap is 0; write a number of at least 1e-06 and "
     "at most 1e+06"},
    {"gemma2", "\"final_logit_softcapping\": \"30\"",
     "H3: final_logit_softcapping is \"30\"; write a number"},
    {"gemma2", "\"sliding_window\": 4.5",
     "H3: sliding_window is 4.5; write a whole number"},
    {"gemma3_text", "\"query_pre_attn_scalar\": -4",
     "H3: query_pre_attn_scalar is -4; write a number above 0"},
    {"llama", "\"use_parallel_residual\": true",
     "H5: use_parallel_residual is true; only false is supported"},
    {"gpt_neox", "\"use_parallel_residual\": 1",
     "H3: use_parallel_residual is 1; write true or false"},
    {"nemotron", "\"partial_rotary_factor\": 1.5",
     "S10: model.rope.rotary_percent is 1.5; write a number above 0 and at "
     "most 1"},
    {"qwen3_moe",
     "\"mlp_only_layers\": [0.5], \"num_experts\": 4, "
     "\"moe_intermediate_size\": 3",
     "H3: mlp_only_layers is a list; write a list of whole numbers"},
    {"qwen2_moe",
     "\"shared_expert_intermediate_size\": 7, \"num_experts\": 4, "
     "\"moe_intermediate_size\": 3",
     "H5: shared_expert_intermediate_size is 7; supported are multiples of "
     "moe_intermediate_size (3)"},
    {"mixtral", "\"router_jitter_noise\": 0.1, \"num_local_experts\": 4",
     "H5: router_jitter_noise is 0.1; only 0 is supported"},
    {"mamba2", "\"num_heads\": 8",
     "H5: num_heads is 8 and head_dim 64, whose product is not expand times "
     "hidden_size (16)"},
    {"mamba2", "\"expand\": 1.5",
     "H3: expand is 1.5; write a whole number from 1 to 65536"},
    {"mamba2", "\"hidden_act\": \"gelu\"",
     "H5: hidden_act is \"gelu\"; supported for mamba2 are silu or swish"},
    {"mamba2", "\"rms_norm\": false",
     "H5: rms_norm is false; only true is supported"},
    {"mamba2", "\"time_step_min\": 0.01",
     "H5: time_step_min is 0.01; only 0.001 is supported"},
    {"mamba2", "\"time_step_max\": 1",
     "H5: time_step_max is 1; only 0.1 is supported"},
    {"mamba2", "\"time_step_floor\": 0.01",
     "H5: time_step_floor is 0.01; supported are numbers up to 0.001"},
    {"mamba2", "\"time_step_limit\": [0.0], \"num_heads\": 8, \"head_dim\": 2",
     "H3: time_step_limit is a list; write a list of two numbers"},
    {"mamba2",
     "\"time_step_limit\": [Infinity, Infinity], \"num_heads\": 8, "
     "\"head_dim\": 2",
     "S10: model.state_space.step_least is inf; write a number of at least 0 "
     "and at most 1e+06"},
    {"mamba2",
     "\"time_step_limit\": [0.5, 0.5], \"num_heads\": 8, \"head_dim\": 2",
     "S85: model.state_space.step_most is 0.5; write more than step_least "
     "(0.5)"},
    {"bamba", "\"z_loss_coefficient\": 0.1",
     "H5: z_loss_coefficient is 0.1; only 0 is supported"},
    {"bamba", "\"partial_rotary_factor\": 1.0",
     "H5: partial_rotary_factor is 1; only 0.5 is supported"},
    {"bamba", "\"attn_rotary_emb\": 4",
     "H5: attn_rotary_emb is 4; only 2 is supported"},
    {"bamba", "\"attn_layer_indices\": [1, 2], \"mamba_n_heads\": 4",
     "H5: attn_layer_indices has 2; supported are layers from 0 to 1"},
    {"bamba", "\"attn_layer_indices\": [0, 1], \"mamba_n_heads\": 4",
     "H5: attn_layer_indices names every layer; supported are models of which "
     "some layer has a state space"},
    {"bamba", "\"mamba_n_heads\": 5",
     "H5: mamba_n_heads is 5, which does not divide mamba_expand times "
     "hidden_size (16)"},
    {"bamba", "\"mamba_d_head\": \"all\"",
     "H3: mamba_d_head is \"all\"; write a whole number"},
    {"bamba", "\"mamba_n_heads\": 4, \"mamba_d_head\": 3",
     "H5: mamba_n_heads is 4 and mamba_d_head 3, whose product is not "
     "mamba_expand times hidden_size (16)"},
    {"nemotron_h", "\"layers_block_type\": [\"mamba\", \"moe\"]",
     "H5: layers_block_type has \"moe\"; supported are linear_attention, "
     "full_attention and mlp"},
    {"nemotron_h", "\"hybrid_override_pattern\": \"ME\"",
     "H5: hybrid_override_pattern has \"E\"; supported are M, * and -"},
    {"nemotron_h", "\"hybrid_override_pattern\": \"*-\"",
     "H5: hybrid_override_pattern has no layer with a state space; supported "
     "are models of which some layer has one"},
    {"nemotron_h", "\"hybrid_override_pattern\": [1]",
     "H3: hybrid_override_pattern is a list; write a list of names"},
    {"nemotron_h", "\"attention_bias\": true",
     "H5: attention_bias is true; only false is supported"},
    {"nemotron_h", "\"tie_word_embeddings\": true",
     "H5: tie_word_embeddings is true; only false is supported"},
    {"nemotron_h", "\"time_step_limit\": [0.01, 1.0]",
     "H5: time_step_limit is not [0, Infinity]; only that is supported"},
    {"nemotron_h", "\"mamba_hidden_act\": \"gelu\"",
     "H5: mamba_hidden_act is \"gelu\"; supported are silu or swish"},
    {"nemotron_h", "\"num_nextn_predict_layers\": 2",
     "H5: num_nextn_predict_layers is 2; only 0 is supported"},
    {"nemotron_h", "\"sliding_window\": 8",
     "H5: sliding_window is 8; only null is supported"},
    {"qwen3", "\"layer_types\": 3",
     "H3: layer_types is 3; write a list of names"},
    {"mistral", "\"sliding_window\": 0",
     "S4: model.sliding_window is 0; write a number from 1 to 2147483647"},
    {"mistral", "\"sliding_window\": {}",
     "H3: sliding_window is a list or an object; write a whole number"},
    {"qwen2", "\"use_sliding_window\": \"yes\"",
     "H3: use_sliding_window is \"yes\"; write true or false"},
};
INSTANTIATE_TEST_SUITE_P(All, BadKeys, testing::ValuesIn(badKeys));

TEST(BadConfig, OptsThatHaveMore) {
  const std::string opt =
      "{\"model_type\": \"opt\", \"vocab_size\": 5, "
      "\"max_position_embeddings\": 4, \"hidden_size\": 8, "
      "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"ffn_dim\": 8,\n";
  EXPECT_EQ(messageOf(opt + "\"word_embed_proj_dim\": 8}"), "accepted");
  EXPECT_EQ(messageOf(opt + "\"word_embed_proj_dim\": 4}"),
            "config.json:2:1: H5: word_embed_proj_dim is 4; only hidden_size "
            "(8) is supported");
  EXPECT_EQ(messageOf(opt + "\"do_layer_norm_before\": false}"),
            "config.json:2:1: H5: do_layer_norm_before is false; only true is "
            "supported");
  EXPECT_EQ(messageOf(opt + "\"layerdrop\": 0.5}"),
            "config.json:2:1: H5: layerdrop is 0.5; only 0 is supported");
  EXPECT_EQ(messageOf(opt + "\"layerdrop\": 0.0}"), "accepted");
}

TEST(BadConfig, WhatRotatesIsWithinAHead) {
  const std::string gptj =
      "{\"model_type\": \"gptj\", \"vocab_size\": 5, \"n_positions\": 4, "
      "\"n_embd\": 8, \"n_layer\": 1, \"n_head\": 2,\n\"rotary_dim\": ";
  EXPECT_EQ(messageOf(gptj + "4}"), "accepted");
  EXPECT_EQ(messageOf(gptj + "6}"),
            "config.json:2:1: H5: rotary_dim is 6; supported are even numbers "
            "from 2 to 4, the size of a head");
  EXPECT_EQ(messageOf(gptj + "3}"),
            "config.json:2:1: S7: the rotary embedding turns pairs, and the "
            "share of model.head_dim that turns is 3; write an even number, or "
            "another position");
  EXPECT_EQ(messageOf(gptj + "null}"),
            "config.json:2:1: H5: rotary_dim is null; only numbers are "
            "supported");
  EXPECT_EQ(messageOf(gptj + "0.5}"),
            "config.json:2:1: H3: rotary_dim is 0.5; write a whole number");
}

TEST(BadConfig, OnlyTheWordInfinityIsNoJson) {
  for (const char *number : {"-Infinity", "Infinity0", "Infinit", "infinity"})
    EXPECT_NE(
        messageOf(withKeys("llama", std::string("\"rms_norm_eps\": ") + number))
            .find("H1: is not JSON"),
        std::string::npos)
        << number;
  EXPECT_EQ(messageOf(withKeys("llama", "\"rms_norm_eps\": Infinity")),
            "config.json:2:1: S10: model.norm_eps is inf; write a number "
            "above 0 and at most 1");
  EXPECT_EQ(messageOf(withKeys("llama", "\"hidden_act\": \"\\\"Infinity\"")),
            "config.json:2:1: H5: hidden_act is \"\"Infinity\"; supported for "
            "llama are silu, swish, gelu, gelu_pytorch_tanh or gelu_new");
}

TEST(BadConfig, DeepNesting) {
  std::string deep = "{\"a\": ";
  EXPECT_EQ(
      messageOf(deep + std::string(100000, '[') + std::string(100000, ']') +
                "}"),
      "config.json:1:1030: H1: is not JSON: expected at most 1024 levels");
}

TEST(BadConfig, EveryTruncationIsRefused) {
  std::string whole = withKeys("llama", "\"rope_theta\": 500");
  ASSERT_EQ(messageOf(whole), "accepted");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(messageOf(whole.substr(0, size)), "accepted") << size;
}

/// Whatever a flipped bit makes of a config, reading it ends.
TEST(BadConfig, FlippedBitsDoNoHarm) {
  const std::string whole = withKeys("qwen3", "\"rope_theta\": 500");
  int refused = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    refused += !parseConfig(flipped, "config.json").ok();
  }
  EXPECT_GT(refused, static_cast<int>(4 * whole.size()));
}

} // namespace
