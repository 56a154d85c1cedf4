//===- LatentAttentionSpecTest.cpp - Specs of attention to latents --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/model/Sizes.h"
#include "test/frontends/spec/BadSpec.h"

#include <gtest/gtest.h>

using namespace hocket::spec;
using namespace hocket::spec::test;

namespace {

constexpr char latent[] =
    "model { layers: 2 hidden: 64 heads: 4 vocab_size: 257 max_positions: 32\n"
    "  norm: RMS_NORM position: ROTARY bias: false qk_norm: true\n"
    "  latent_attention { q_lora_rank: 20 kv_lora_rank: 24 qk_nope_head_dim: "
    "8\n"
    "    qk_rope_head_dim: 4 v_head_dim: 10 } }\n";

Spec specOf(const std::string &text, std::vector<std::string> overrides) {
  auto loaded = parseSpec(text, "a.textproto", {"", std::move(overrides)});
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded->spec;
}

struct BadLatent {
  std::vector<std::string> overrides;
  const char *message;
};

class BadLatents : public testing::TestWithParam<BadLatent> {};

TEST_P(BadLatents, AreExplained) {
  EXPECT_EQ(messageOf(latent, GetParam().overrides), GetParam().message);
}

const BadLatent badLatents[] = {
    {{"model.latent_attention={}"},
     "--set model.latent_attention={}: S129: "
     "model.latent_attention.kv_lora_rank is required; write it"},
    {{"model.head_dim=16"},
     "--set model.head_dim=16: S129: model.head_dim is 16, and heads have "
     "qk_rope_head_dim + qk_nope_head_dim (12); leave it out"},
    {{"model.latent_attention.qk_nope_head_dim=510"},
     "--set model.latent_attention.qk_nope_head_dim=510: S129: heads have 514 "
     "elements; write parts of at most 512 together"},
    {{"model.latent_attention.v_head_dim=13"},
     "--set model.latent_attention.v_head_dim=13: S129: "
     "model.latent_attention.v_head_dim is 13; write at most qk_rope_head_dim "
     "+ qk_nope_head_dim (12)"},
    {{"model.latent_attention.qk_rope_head_dim=0"},
     "--set model.latent_attention.qk_rope_head_dim=0: S4: "
     "model.latent_attention.qk_rope_head_dim is 0; write a number from 1 to "
     "511"},
    {{"model.latent_attention.qk_rope_head_dim=3"},
     "--set model.latent_attention.qk_rope_head_dim=3: S7: the rotary "
     "embedding turns pairs, and model.latent_attention.qk_rope_head_dim is "
     "3; write an even number, or another position"},
    {{"model.kv_heads=2"},
     "--set model.kv_heads=2: S130: every head has keys of its own; leave "
     "kv_heads out"},
    {{"model.attention_qkv_bias=true"},
     "--set model.attention_qkv_bias=true: S130: latents and what is made of "
     "them have no biases; write attention_qkv_bias: false"},
    {{"model.position=ALIBI"},
     "--set model.position=ALIBI: S130: a part of queries and keys rotates; "
     "write position: ROTARY"},
    {{"model.qk_norm_scope=ALL_HEADS"},
     "--set model.qk_norm_scope=ALL_HEADS: S130: norms are of the latents; "
     "leave qk_norm_scope out"},
    {{"training.lora={}"},
     "--set training.lora={}: S131: latents are of low rank themselves; leave "
     "lora out"},
    {{"model.rope.rotary_percent=0.5"},
     "--set model.rope.rotary_percent=0.5: S9: "
     "latent_attention.qk_rope_head_dim says how much of a head turns; leave "
     "rotary_percent out"},
    {{"model.rope.scaling.yarn={factor: 4 original_max_positions: 8}"},
     "--set model.rope.scaling.yarn={factor: 4 original_max_positions: 8}: "
     "S9: attention_factor scales whole heads, of which a part turns; write "
     "attention_factor: 1, and the scale of scores as model.attention_scale"},
};

INSTANTIATE_TEST_SUITE_P(All, BadLatents, testing::ValuesIn(badLatents));

int64_t elementsOf(const Spec &spec) {
  int64_t total = 0;
  for (const Parameter &parameter : modelParameters(spec)) {
    int64_t size = 1;
    for (int64_t dim : parameter.shape)
      size *= dim;
    total += size;
  }
  return total;
}

TEST(LatentAttentionSpec, ParametersAddUpToTheCount) {
  for (const char *overrides :
       {"model.qk_norm=true", "model.qk_norm=false",
        "model.attention_out_bias=true",
        "model.latent_attention={kv_lora_rank: 9 v_head_dim: 128}"}) {
    Spec spec = specOf(latent, {overrides});
    EXPECT_EQ(parameterCount(spec.model()).get(), elementsOf(spec))
        << overrides;
  }
}

TEST(LatentAttentionSpec, HasPublishedSizes) {
  const std::string lite =
      "model { layers: 27 hidden: 2048 heads: 16 ffn: 10944 vocab_size: 102400 "
      "max_positions: 4096 norm: RMS_NORM activation: SWIGLU position: ROTARY "
      "bias: false qk_norm: true tied_embeddings: false "
      "latent_attention { kv_lora_rank: 512 } moe { experts: 64 top_k: 6 "
      "ffn: 1408 shared_experts: 2 renormalise: false first_dense_layers: 1 } "
      "}";
  EXPECT_EQ(parameterCount(specOf(lite, {}).model()).get(), 15706484224);
  // DeepSeek-V3 without its layer that predicts a further token, and without
  // the biases of its routers.
  const std::string v3 =
      "model { layers: 61 hidden: 7168 heads: 128 ffn: 18432 vocab_size: "
      "129280 max_positions: 4096 norm: RMS_NORM activation: SWIGLU position: "
      "ROTARY bias: false qk_norm: true tied_embeddings: false "
      "latent_attention { q_lora_rank: 1536 kv_lora_rank: 512 } moe { experts: "
      "256 top_k: 8 ffn: 2048 shared_experts: 1 scores: SIGMOID groups: 8 "
      "topk_groups: 4 first_dense_layers: 3 } }";
  EXPECT_EQ(parameterCount(specOf(v3, {}).model()).get(), 671026404352);
}

} // namespace
