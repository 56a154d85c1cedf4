//===- VisionSpecTest.cpp - Specs of models that see images ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Frozen.h"
#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"
#include "test/frontends/spec/BadSpec.h"

#include <gtest/gtest.h>

using namespace hocket::spec;
using namespace hocket::spec::test;

namespace {

/// Nine patches an image, of 48 numbers each.
constexpr char sees[] =
    "model { layers: 2 hidden: 64 heads: 4 vocab_size: 257 max_positions: 32\n"
    "  image_token: 3\n"
    "  vision { layers: 3 hidden: 48 heads: 4 image_size: 12 patch_size: 4 } "
    "}\n"
    "training { images_per_sequence: 2 }\n";

LoadedSpec loaded(std::vector<std::string> overrides = {}) {
  auto spec = parseSpec(sees, "a.textproto", {"", std::move(overrides)});
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *std::move(spec);
}

struct BadVision {
  std::vector<std::string> overrides;
  const char *message;
};

class BadVisions : public testing::TestWithParam<BadVision> {};

TEST_P(BadVisions, AreExplained) {
  EXPECT_EQ(messageOf(sees, GetParam().overrides), GetParam().message);
}

const BadVision badVisions[] = {
    {{"model.vision.heads=5"},
     "--set model.vision.heads=5: S106: model.vision.heads is 5; write a "
     "divisor of model.vision.hidden (48)"},
    {{"model.vision.patch_size=5"},
     "--set model.vision.patch_size=5: S106: patches of 5 pixels do not fill "
     "images of 12; write a divisor of image_size"},
    {{"model.vision.feature_layer=4"},
     "--set model.vision.feature_layer=4: S106: the tower has no layer 4; "
     "write one from 1 to 3, or from the end from -1 to -3"},
    {{"model.vision.feature_layer=-4"},
     "--set model.vision.feature_layer=-4: S106: the tower has no layer -4; "
     "write one from 1 to 3, or from the end from -1 to -3"},
    {{"model.vision.feature_layer=0"},
     "--set model.vision.feature_layer=0: S106: the tower has no layer 0; "
     "write one from 1 to 3, or from the end from -1 to -3"},
    {{"model.vision.projector_activation=SWIGLU"},
     "--set model.vision.projector_activation=SWIGLU: S106: "
     "projector_activation acts on one linear layer, and SWIGLU multiplies "
     "two; write another, such as GELU"},
    {{"model.image_token=257"},
     "--set model.image_token=257: S106: model.image_token is 257; write a "
     "token of the vocabulary, below 257"},
    {{"model.vision.patch_size=0"},
     "--set model.vision.patch_size=0: S4: model.vision.patch_size is 0; "
     "write a number from 1 to 16384"},
    {{"model.attention_mask=BIDIRECTIONAL", "training.masked_lm={cls_token:1 "
                                            "sep_token:2 mask_token:5 "
                                            "pad_token:0}"},
     "--set model.attention_mask=BIDIRECTIONAL: S107: images stand in texts "
     "that are told token by token; leave attention_mask out"},
    {{"plan.shardings=a", "plan.tensor_parallel=2"},
     "--set plan.shardings=a: S107: shardings of a file are of models without "
     "images; leave shardings out"},
    {{"training.sequence_length=18"},
     "--set training.sequence_length=18: S108: the images of a sample stand "
     "for 18 tokens, and training.sequence_length is 18; write more, or fewer "
     "images_per_sequence"},
    {{"model.vision.select=ALL", "training.sequence_length=20"},
     "--set training.sequence_length=20: S108: the images of a sample stand "
     "for 20 tokens, and training.sequence_length is 20; write more, or fewer "
     "images_per_sequence"},
    {{"model.vision.heads=3", "plan.tensor_parallel=2"},
     "--set plan.tensor_parallel=2: S109: plan.tensor_parallel is 2, which "
     "does not divide model.vision.heads (3); write a divisor of both heads"},
};

INSTANTIATE_TEST_SUITE_P(Specs, BadVisions, testing::ValuesIn(badVisions));

TEST(VisionSpec, WantsAllParts) {
  EXPECT_EQ(
      messageOf(std::string(sound) + "training { images_per_sequence: 1 }"),
      "a.textproto:2:12: S105: the model sees no images; write "
      "model.vision, or leave training.images_per_sequence out");
  EXPECT_EQ(messageOf("model { layers: 2 hidden: 64 heads: 4 vocab_size: 257 "
                      "max_positions: 32\n  vision { layers: 2 hidden: 8 "
                      "heads: 2 image_size: 8 } }"),
            "a.textproto:2:3: S105: model.image_token is required with "
            "model.vision; write it\n"
            "a.textproto:2:3: S105: training.images_per_sequence is required "
            "with model.vision; write it\n"
            "a.textproto:2:3: S105: model.vision.patch_size is required; write "
            "it");
}

TEST(VisionSpec, HasDefaults) {
  const Vision vision = loaded().spec.model().vision();
  EXPECT_EQ(vision.ffn(), 192);
  EXPECT_EQ(vision.activation(), Model::QUICK_GELU);
  EXPECT_EQ(vision.feature_layer(), -2);
  EXPECT_EQ(computedLayers(vision), 2);
  EXPECT_EQ(placedRows(vision), 9);
  EXPECT_EQ(patchElements(vision), 48);
}

TEST(VisionSpec, CountsParameters) {
  for (const char *bias : {"true", "false"}) {
    const LoadedSpec spec =
        loaded({"model.vision.projector_bias=" + std::string(bias)});
    int64_t total = 0;
    for (const Parameter &parameter : modelParameters(spec.spec)) {
      int64_t elements = 1;
      for (int64_t size : parameter.shape)
        elements *= size;
      total += elements;
    }
    EXPECT_EQ(parameterCount(spec.spec.model()).get(), total);
  }
}

/// Adapters are of the language model.
TEST(VisionSpec, CountsWhatIsTrained) {
  auto share = [](std::vector<std::string> overrides, auto isOne) {
    return trainedShare(
        loaded(std::move(overrides)).spec,
        [&](const Parameter &parameter) { return isOne(parameter.name); });
  };
  auto isText = [](const std::string &name) { return !isOfVision(name); };
  EXPECT_EQ(share({}, isOfVision), 1);
  std::string frozen = "training.freeze[0]={name: 'vision.*'}";
  EXPECT_EQ(share({frozen}, isOfProjector), 1);
  EXPECT_EQ(share({frozen}, isText), 1);
  EXPECT_LT(share({frozen}, isOfVision), 0.2);
  EXPECT_EQ(share({"training.train_only[0]={name: 'projector.*'}"}, isText), 0);
  EXPECT_EQ(share({"training.lora={}"}, isOfVision), 0);
  EXPECT_GT(share({"training.lora={}"}, isText), 0);
}

TEST(VisionSpec, KeepsWhatNothingReads) {
  const LoadedSpec spec = loaded();
  const Model &model = spec.spec.model();
  EXPECT_TRUE(isUnread(model, "vision.layers.2.mlp.up.weight"));
  EXPECT_TRUE(isUnread(model, "vision.post_norm.bias"));
  EXPECT_FALSE(isUnread(model, "vision.layers.1.mlp.up.weight"));
  EXPECT_FALSE(isUnread(model, "vision.pre_norm.bias"));
  EXPECT_FALSE(isUnread(model, "layers.2.mlp.up.weight"));
}

} // namespace
