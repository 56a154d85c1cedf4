//===- ParametersTest.cpp - Names, shapes and initial values --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/LoadSpec.h"
#include "frontends/spec/model/RopeFrequencies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

using namespace hocket;
using namespace hocket::spec;

namespace {

Spec loadModel(const std::string &more,
               std::vector<std::string> overrides = {}) {
  StatusOr<LoadedSpec> loaded =
      parseSpec("model { layers: 2 hidden: 8 heads: 4 ffn: 12 vocab_size: 5 "
                "max_positions: 3 " +
                    more + " }",
                "a.textproto", {"", std::move(overrides)});
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? loaded->spec : Spec();
}

/// One parameter a line: name, shape, initial value, "decay".
std::string describe(const std::vector<Parameter> &list) {
  std::ostringstream text;
  for (const Parameter &parameter : list) {
    text << parameter.name << " ";
    for (int64_t size : parameter.shape)
      text << size << "x";
    switch (parameter.initial) {
    case Parameter::Initial::Zeros:
      text << " zeros";
      break;
    case Parameter::Initial::Ones:
      text << " ones";
      break;
    case Parameter::Initial::Normal:
      text << " " << parameter.stddev;
      break;
    case Parameter::Initial::Uniform:
      text << " uniform " << parameter.stddev;
      break;
    case Parameter::Initial::LogUniform:
      text << " log_uniform " << parameter.stddev;
      break;
    case Parameter::Initial::TimeStep:
      text << " time_step " << parameter.stddev;
      break;
    }
    text << (parameter.decay ? " decay\n" : "\n");
  }
  return text.str();
}

TEST(Parameters, GptStyle) {
  Spec spec =
      loadModel("vocab_padding: 4 initializer { stddev: 0.5 depth_scaled: "
                "true }");
  EXPECT_EQ(describe(inputParameters(spec)),
            "embedding.weight 8x8x 0.5 decay\n"
            "position_embedding.weight 3x8x 0.5 decay\n");
  EXPECT_EQ(describe(layerParameters(spec, LayerPattern(spec.model())[0])),
            "attention_norm.weight 8x ones\n"
            "attention_norm.bias 8x zeros\n"
            "attention.q.weight 8x8x 0.5 decay\n"
            "attention.q.bias 8x zeros\n"
            "attention.k.weight 8x8x 0.5 decay\n"
            "attention.k.bias 8x zeros\n"
            "attention.v.weight 8x8x 0.5 decay\n"
            "attention.v.bias 8x zeros\n"
            "attention.o.weight 8x8x 0.25 decay\n"
            "attention.o.bias 8x zeros\n"
            "mlp_norm.weight 8x ones\n"
            "mlp_norm.bias 8x zeros\n"
            "mlp.up.weight 12x8x 0.5 decay\n"
            "mlp.up.bias 12x zeros\n"
            "mlp.down.weight 8x12x 0.25 decay\n"
            "mlp.down.bias 8x zeros\n");
  EXPECT_EQ(describe(outputParameters(spec)), "final_norm.weight 8x ones\n"
                                              "final_norm.bias 8x zeros\n");
}

TEST(Parameters, LlamaStyle) {
  Spec spec = loadModel("kv_heads: 2 head_dim: 4 norm: RMS_NORM bias: false "
                        "activation: SWIGLU position: ROTARY qk_norm: true "
                        "tied_embeddings: false",
                        {"training.optimizer.decay_norms_and_biases=true"});
  EXPECT_EQ(describe(inputParameters(spec)),
            "embedding.weight 5x8x 0.02 decay\n");
  EXPECT_EQ(describe(layerParameters(spec, LayerPattern(spec.model())[0])),
            "attention_norm.weight 8x ones decay\n"
            "attention.q.weight 16x8x 0.02 decay\n"
            "attention.k.weight 8x8x 0.02 decay\n"
            "attention.v.weight 8x8x 0.02 decay\n"
            "attention.q_norm.weight 4x ones decay\n"
            "attention.k_norm.weight 4x ones decay\n"
            "attention.o.weight 8x16x 0.02 decay\n"
            "mlp_norm.weight 8x ones decay\n"
            "mlp.gate.weight 12x8x 0.02 decay\n"
            "mlp.up.weight 12x8x 0.02 decay\n"
            "mlp.down.weight 8x12x 0.02 decay\n");
  EXPECT_EQ(describe(outputParameters(spec)),
            "final_norm.weight 8x ones decay\n"
            "head.weight 5x8x 0.02 decay\n");
}

TEST(Parameters, LayersAreNumbered) {
  EXPECT_EQ(layerName(3, "attention.q.weight"), "layers.3.attention.q.weight");
}

TEST(RopeFrequencies, PlainAndLinear) {
  Rope rope;
  rope.set_theta(10000);
  const double plain[] = {1.0, 0.1, 0.01, 0.001};
  std::vector<double> got = inverseFrequencies(rope, 8, 64);
  ASSERT_EQ(got.size(), 4u);
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(got[i] / plain[i], 1, 1e-14);
  rope.mutable_scaling()->mutable_linear()->set_factor(4);
  got = inverseFrequencies(rope, 8, 64);
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(got[i] / plain[i], 0.25, 1e-14);
}

TEST(RopeFrequencies, OfAPartOfAHead) {
  Rope rope;
  rope.set_theta(10000);
  rope.set_rotary_percent(0.26);
  EXPECT_EQ(rotatedDim(rope, 16), 4);
  std::vector<double> got = inverseFrequencies(rope, 16, 64);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_NEAR(got[1], 0.01, 1e-15);
}

/// transformers 5.24, _compute_yarn_parameters, in float32.
TEST(RopeFrequencies, Yarn) {
  Rope rope;
  rope.set_theta(1000000);
  Rope::Yarn &scaling = *rope.mutable_scaling()->mutable_yarn();
  scaling.set_factor(4);
  scaling.set_original_max_positions(32768);
  const std::pair<size_t, double> expected[] = {{0, 1},
                                                {20, 0.0133352149},
                                                {22, 0.00865964312},
                                                {23, 0.00697830599},
                                                {24, 0.00537532149},
                                                {30, 0.00106436096},
                                                {35, 0.000246258394},
                                                {39, 6.4903943e-05},
                                                {40, 4.44569851e-05},
                                                {63, 3.10234441e-07}};
  std::vector<double> got = inverseFrequencies(rope, 128, 64);
  ASSERT_EQ(got.size(), 64u);
  for (auto [index, value] : expected)
    EXPECT_NEAR(got[index] / value, 1, 1e-6) << index;
  EXPECT_NEAR(ropeScoreFactor(rope), 1.138629436111989 * 1.138629436111989,
              1e-12);
  scaling.set_attention_factor(1.5);
  EXPECT_EQ(ropeScoreFactor(rope), 2.25);
}

/// transformers 5.24, _compute_dynamic_ntk_parameters, in float32.
TEST(RopeFrequencies, Dynamic) {
  Rope rope;
  rope.set_theta(10000);
  Rope::Dynamic &scaling = *rope.mutable_scaling()->mutable_dynamic();
  scaling.set_factor(4);
  scaling.set_original_max_positions(2048);
  const std::pair<size_t, double> expected[] = {{0, 1},
                                                {1, 0.705043435},
                                                {7, 0.0865986496},
                                                {16, 0.00372781185},
                                                {23, 0.000322823471},
                                                {31, 1.97102472e-05}};
  std::vector<double> got = inverseFrequencies(rope, 64, 5000);
  ASSERT_EQ(got.size(), 32u);
  for (auto [index, value] : expected)
    EXPECT_NEAR(got[index] / value, 1, 1e-6) << index;
  // Not beyond the context: as if there were no scaling.
  EXPECT_FALSE(scalesByLength(rope, 2048));
  EXPECT_EQ(inverseFrequencies(rope, 64, 2048),
            inverseFrequencies(rope, 64, 100));
  EXPECT_NEAR(inverseFrequencies(rope, 64, 2048)[16], 0.01, 1e-15);
}

/// Computed in float64 from the wavelengths, as the model's authors state it.
TEST(RopeFrequencies, Llama3) {
  Rope rope;
  rope.set_theta(500000);
  Rope::Llama3 &scaling = *rope.mutable_scaling()->mutable_llama3();
  scaling.set_factor(8);
  scaling.set_low_freq_factor(1);
  scaling.set_high_freq_factor(4);
  scaling.set_original_max_positions(8192);
  const std::pair<size_t, double> expected[] = {{0, 1.0},
                                                {1, 0.8146172338565447},
                                                {28, 0.0032114459947525913},
                                                {29, 0.002166570763503359},
                                                {30, 0.0013718935677611381},
                                                {33, 0.00031269375038406517},
                                                {34, 0.00017850781276799638},
                                                {35, 9.556212353964683e-05},
                                                {63, 3.068925988914511e-07}};
  std::vector<double> got = inverseFrequencies(rope, 128, 64);
  ASSERT_EQ(got.size(), 64u);
  for (auto [index, value] : expected)
    EXPECT_NEAR(got[index] / value, 1, 1e-12) << index;
}

} // namespace
