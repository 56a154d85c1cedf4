//===- ModelWeightsTest.cpp - What checkpoints of a spec hold -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/ModelWeights.h"

#include "frontends/huggingface/Families.h"
#include "frontends/spec/LoadSpec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace hocket;

namespace {

/// A line for each weight: its name and its shape.
std::string weightsOfModel(const std::string &more) {
  StatusOr<spec::LoadedSpec> loaded = spec::parseSpec(
      "model { hidden: 12 heads: 4 ffn: 10 vocab_size: 5 max_positions: 7 "
      "norm: RMS_NORM bias: false " +
          more + " }",
      "a.textproto");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  std::string text;
  if (!loaded.ok())
    return text;
  for (const checkpoint::TensorSpec &weight : weightsOf(loaded->spec).tensors)
    text += weight.key.name + " " + checkpoint::shapeText(weight.shape) + "\n";
  return text;
}

TEST(ModelWeights, FollowThePattern) {
  EXPECT_EQ(weightsOfModel(
                "layers: 3 vocab_padding: 8 activation: SWIGLU kv_heads: 2 "
                "moe { experts: 2 ffn: 6 shared_experts: 1 } "
                "layer_kinds { name: \"mixer\" feed_forward: NO_FEED_FORWARD } "
                "layer_kinds { name: \"wide\" mixer: NO_MIXER ffn: 20 } "
                "layer_kinds { name: \"experts\" mixer: NO_MIXER "
                "feed_forward: EXPERTS } pattern: \"mixer wide experts\""),
            "embedding.weight [8, 12]\n"
            "position_embedding.weight [7, 12]\n"
            "layers.0.attention_norm.weight [12]\n"
            "layers.0.attention.q.weight [12, 12]\n"
            "layers.0.attention.k.weight [6, 12]\n"
            "layers.0.attention.v.weight [6, 12]\n"
            "layers.0.attention.o.weight [12, 12]\n"
            "layers.1.mlp_norm.weight [12]\n"
            "layers.1.mlp.gate.weight [20, 12]\n"
            "layers.1.mlp.up.weight [20, 12]\n"
            "layers.1.mlp.down.weight [12, 20]\n"
            "layers.2.mlp_norm.weight [12]\n"
            "layers.2.mlp.router.weight [2, 12]\n"
            "layers.2.mlp.experts.gate.weight [2, 6, 12]\n"
            "layers.2.mlp.experts.up.weight [2, 6, 12]\n"
            "layers.2.mlp.experts.down.weight [2, 12, 6]\n"
            "layers.2.mlp.shared.gate.weight [6, 12]\n"
            "layers.2.mlp.shared.up.weight [6, 12]\n"
            "layers.2.mlp.shared.down.weight [12, 6]\n"
            "final_norm.weight [12]\n");
}

/// A config can be written for every family whose weights can, and no other.
TEST(ModelWeights, ConfigsAndWeightsHaveTheSameFamilies) {
  std::vector<std::string> configs;
  for (const huggingface::Family &family : huggingface::families())
    if (!family.has(huggingface::Trait::OtherName))
      configs.push_back(family.modelType);
  std::vector<std::string> weights = checkpoint::huggingFaceFamilies();
  std::sort(configs.begin(), configs.end());
  std::sort(weights.begin(), weights.end());
  EXPECT_EQ(configs, weights);
}

} // namespace
