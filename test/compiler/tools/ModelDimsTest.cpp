//===- ModelDimsTest.cpp - Checkpoints have the spec's parameters ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/ModelDims.h"

#include "frontends/huggingface/Families.h"
#include "frontends/spec/LoadSpec.h"
#include "frontends/spec/Parameters.h"
#include "frontends/spec/Sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace hocket;

namespace {

using Shapes = std::map<std::string, std::vector<uint64_t>>;

void add(Shapes &shapes, const spec::Parameter &parameter,
         const std::string &name) {
  shapes[name] = {parameter.shape.begin(), parameter.shape.end()};
}

Shapes shapesOfSpec(const spec::Spec &spec) {
  Shapes shapes;
  for (const spec::Parameter &parameter : inputParameters(spec))
    add(shapes, parameter, parameter.name);
  for (int64_t i = 0; i < spec.model().layers(); ++i)
    for (const spec::Parameter &parameter :
         layerParameters(spec, spec::hasExperts(spec.model(), i)))
      add(shapes, parameter, spec::layerName(i, parameter.name));
  for (const spec::Parameter &parameter : outputParameters(spec))
    add(shapes, parameter, parameter.name);
  return shapes;
}

class ModelDims : public testing::TestWithParam<const char *> {};

TEST_P(ModelDims, CheckpointsHaveTheSpecsParameters) {
  StatusOr<spec::LoadedSpec> loaded = spec::parseSpec(
      "model { layers: 2 hidden: 12 heads: 4 vocab_size: 5 max_positions: 7 " +
          std::string(GetParam()) + " }",
      "a.textproto");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  auto weights = checkpoint::weightsOf(dimsOf(loaded->spec.model()));
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  Shapes shapes;
  for (const checkpoint::TensorSpec &weight : *weights)
    shapes[weight.key.name] = weight.shape;
  EXPECT_EQ(shapes, shapesOfSpec(loaded->spec));
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelDims,
    testing::Values("", "vocab_padding: 8 tied_embeddings: false",
                    "position: ROTARY head_dim: 4 norm: RMS_NORM bias: false "
                    "activation: SWIGLU kv_heads: 2 ffn: 10",
                    "position: NONE qk_norm: true attention_out_bias: false",
                    "norm: RMS_NORM mlp_bias: false activation: GEGLU",
                    "norm_bias: false attention_qkv_bias: false",
                    "mlp_bias: false activation: SWIGLU moe { experts: 3 ffn: "
                    "5 shared_experts: 2 }",
                    "mlp_bias: false moe { experts: 3 first_dense_layers: 1 }",
                    "mlp_bias: false moe { experts: 3 interval: 2 }"));

/// A config can be written for every family whose weights can, and no other.
TEST(ModelDimsFamilies, ConfigsAndWeightsHaveTheSameFamilies) {
  std::vector<std::string> configs;
  for (const huggingface::Family &family : huggingface::families())
    configs.push_back(family.modelType);
  std::vector<std::string> weights = checkpoint::huggingFaceFamilies();
  std::sort(configs.begin(), configs.end());
  std::sort(weights.begin(), weights.end());
  EXPECT_EQ(configs, weights);
}

} // namespace
