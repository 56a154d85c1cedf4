//===- HostileSpecTest.cpp - Specs that are too large, too deep, no files -===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/text/SpecText.h"
#include "test/frontends/spec/BadSpec.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace hocket;
using namespace hocket::spec;
using namespace hocket::spec::test;

namespace {

TEST(HostileSpec, SizesThatOverflow) {
  EXPECT_EQ(messageOf("model { layers: 65536 hidden: 16777216 heads: 1048576 "
                      "head_dim: 512 vocab_size: 2147483647 "
                      "max_positions: 32 }"),
            "a.textproto:1:1: S12: the model's parameters do not fit 64-bit "
            "sizes; write smaller layers, hidden, ffn or vocab_size");
  EXPECT_EQ(messageOf("model { layers: 65536 hidden: 1024 heads: 1024 "
                      "vocab_size: 9 max_positions: 2147483647 "
                      "vocab_padding: 2 }\n"
                      "training { micro_batch_size: 1048576 "
                      "global_batch_size: 1048576 }"),
            "a.textproto:2:12: S12: the activations of a microbatch do not "
            "fit 64-bit sizes; write a smaller micro_batch_size or "
            "sequence_length");
  EXPECT_EQ(messageOf(sound, {"model.vocab_size=2147483647",
                              "model.vocab_padding=1000"}),
            "--set model.vocab_padding=1000: S12: vocab_size rounded up to a "
            "multiple of vocab_padding is more than 2147483647; write a "
            "smaller vocab_padding");
}

TEST(HostileSpec, ShardsThatCutBlocks) {
  const char *mxfp8 =
      "training={ precision: BF16 fp8_format: HYBRID fp8_recipe: MXFP8 }";
  EXPECT_EQ(messageOf(sound, {mxfp8, "plan.tensor_parallel=4"}),
            "--set plan.tensor_parallel=4: S61: plan.tensor_parallel is 4, "
            "which cuts blocks of 32 8-bit numbers: model.heads * head_dim "
            "(64) is no multiple of 128; write fewer tensor ranks, or "
            "fp8_recipe: TENSORWISE");
  EXPECT_EQ(messageOf(sound, {mxfp8, "plan.context_parallel=2"}),
            "--set training={ precision: BF16 fp8_format: HYBRID fp8_recipe: "
            "MXFP8 ...: S62: training.sequence_length is 32, and the plan"
            " cuts it into 4 parts (context_parallel, and tensor_parallel "
            "with sequence_parallel), which are no whole blocks of 32 tokens "
            "that have a scale in 8 bits; write a multiple of 128, fewer "
            "ranks, or fp8_recipe: TENSORWISE");
  EXPECT_EQ(messageOf(sound, {mxfp8, "plan.tensor_parallel=2"}), "accepted");
}

TEST(HostileSpec, DeepNesting) {
  std::string text;
  for (int i = 0; i < 50000; ++i)
    text += "model { ";
  EXPECT_EQ(messageOf(text),
            "a.textproto:1:9: S1: model has no field \"model\"; its fields "
            "stand here already, so leave out the \"model {\" around them");
}

TEST(HostileSpec, VeryLongNames) {
  std::string name(500000, 'x');
  EXPECT_EQ(messageOf("model { rope { " + name + ": 1 } }"),
            "a.textproto:1:16: S1: model.rope has no field \"" +
                std::string(64, 'x') +
                "...\"; it has theta, scaling or rotary_percent");
  EXPECT_EQ(messageOf(sound, {"model." + name + "=1"}),
            "--set model." + std::string(58, 'x') +
                "...: S1: there is no "
                "field \"model." +
                std::string(58, 'x') +
                "...\"; a path begins "
                "with name, model, training, plan or cluster");
}

TEST(HostileSpec, Files) {
  std::string folder = testing::TempDir() + "hocket_bad_spec";
  std::filesystem::create_directories(folder);
  auto message = [](const std::string &path) {
    StatusOr<LoadedSpec> loaded = loadSpec(path);
    return loaded.ok() ? "accepted" : loaded.status().message();
  };
  EXPECT_EQ(message(folder), folder + ": is a folder; a file is expected");
  std::string absent = folder + "/absent.textproto";
  EXPECT_EQ(message(absent), absent + ": there is no such file");
  std::string large = folder + "/large.textproto";
  std::ofstream(large) << std::string(maxInputBytes + 1, ' ');
  EXPECT_EQ(message(large),
            large + ": S1: is larger than 1048576 bytes, the most that a "
                    "specification may have");
  std::string plan = folder + "/plan.textproto";
  std::ofstream(plan) << "\nrecompute: ALL";
  StatusOr<LoadedSpec> loaded = parseSpec(sound, "a.textproto", {plan, {}});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().message(),
            plan + ":2:12: S1: recompute cannot be ALL; write NONE, "
                   "SELECTIVE, FULL or AUTO");
}

} // namespace
