//===- NamesTest.cpp - What Megatron-LM calls its weights -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/megatron/Names.h"

#include <gtest/gtest.h>

using namespace hocket::megatron;

namespace {

TEST(NamesTest, OneNameForEachWeight) {
  struct {
    const char *theirs, *ours;
  } rows[] = {
      {"embedding.word_embeddings.weight", "embedding.word_embeddings.weight"},
      {"module.language_model.encoder.final_norm.bias",
       "decoder.final_layernorm.bias"},
      {"decoder.layers.3.self_attention.linear_qkv.layer_norm_weight",
       "decoder.layers.3.input_layernorm.weight"},
      {"language_model.transformer.layers.3.mlp.dense_h_to_4h.weight",
       "decoder.layers.3.mlp.linear_fc1.weight"},
      {"model.decoder.layers.3.mlp.experts.local_experts.5.linear_fc2.weight",
       "decoder.layers.3.mlp.experts.5.linear_fc2.weight"},
      {"decoder.layers.3.mlp.experts.linear_fc1.weight5",
       "decoder.layers.3.mlp.experts.5.linear_fc1.weight"},
      {"decoder.layers.3.mlp.experts.experts.5.linear_fc1.weight",
       "decoder.layers.3.mlp.experts.5.linear_fc1.weight"},
      // Retro's encoder of neighbours.
      {"decoder.layers.3.cross_attention.encoder.layers.0.pre_mlp_layernorm."
       "norm.weight",
       "decoder.layers.3.cross_attention.encoder.layers.0.pre_mlp_layernorm."
       "weight"},
      {"decoder.layers.3.cross_attention.encoder.layers.1.mlp.linear_fc1."
       "layer_norm_bias",
       "decoder.layers.3.cross_attention.encoder.layers.1.pre_mlp_layernorm."
       "bias"},
      {"decoder.layers.3.cross_attention.attn.linear_kv.weight",
       "decoder.layers.3.cross_attention.attn.linear_kv.weight"},
      // With leading dims, whose numbers are filled in.
      {"decoder.layers.mlp.experts.experts.linear_fc1.weight",
       "decoder.layers.3.mlp.experts.5.linear_fc1.weight"},
      {"decoder.layers.mlp.router.weight",
       "decoder.layers.3.mlp.router.weight"},
  };
  for (const auto &[theirs, ours] : rows) {
    auto name = parseWeightName(theirs);
    ASSERT_TRUE(name.has_value()) << theirs;
    EXPECT_EQ(name->text(3, 5), ours);
  }
}

TEST(NamesTest, LeadingDims) {
  auto both =
      parseWeightName("decoder.layers.mlp.experts.experts.linear_fc1.weight");
  EXPECT_TRUE(both->stacksLayers() && both->stacksExperts());
  auto numbered =
      parseWeightName("decoder.layers.7.mlp.experts.experts.linear_fc1.weight");
  EXPECT_FALSE(numbered->stacksLayers());
  EXPECT_TRUE(numbered->stacksExperts());
  EXPECT_EQ(numbered->layer, 7u);
  auto grouped =
      parseWeightName("decoder.layers.7.mlp.experts.linear_fc1.weight12");
  EXPECT_FALSE(grouped->stacksExperts());
  EXPECT_EQ(grouped->expert, 12u);
}

TEST(NamesTest, WhatIsNoWeight) {
  for (const char *name :
       {"optimizer.state.exp_avg.decoder.layers.mlp.linear_fc1.weight",
        "decoder.layers.mlp.linear_fc1._extra_state/shard_0_4", "rng_state/0_1",
        "rotary_pos_emb.inv_freq", "chained_0.optimizer.state.exp_avg.x"})
    EXPECT_FALSE(parseWeightName(name).has_value()) << name;
}

} // namespace
