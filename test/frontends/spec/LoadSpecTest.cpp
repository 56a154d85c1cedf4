//===- LoadSpecTest.cpp - Good specs and their defaults -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/LoadSpec.h"

#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/text/FieldNames.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace hocket;
using namespace hocket::spec;

namespace {

const char *const nano = R"(name: "nano"
model {
  layers: 6 hidden: 384
  heads: 6
  vocab_size: 257  max_positions: 256
}
)";

LoadedSpec load(const std::string &text, const LoadOptions &options = {}) {
  StatusOr<LoadedSpec> loaded = parseSpec(text, "a.textproto", options);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : LoadedSpec();
}

TEST(LoadSpec, FillsDefaults) {
  Spec spec = load(nano).spec;
  EXPECT_EQ(spec.model().kv_heads(), 6);
  EXPECT_EQ(spec.model().head_dim(), 64);
  EXPECT_EQ(spec.model().ffn(), 1536);
  EXPECT_EQ(spec.model().attention_scale(), 0.125);
  EXPECT_TRUE(spec.model().norm_bias());
  EXPECT_FALSE(spec.model().has_rope());
  EXPECT_FALSE(spec.model().has_sliding_window());
  EXPECT_EQ(spec.training().sequence_length(), 256);
  EXPECT_EQ(spec.training().global_batch_size(), 1);
  EXPECT_EQ(spec.training().optimizer().adamw().beta2(), 0.95);
  EXPECT_EQ(spec.training().learning_rate().decay_steps(), 1000);
  EXPECT_FALSE(spec.training().has_loss_scale());
  EXPECT_EQ(spec.plan().pipeline_parallel(), 1);
  EXPECT_EQ(spec.plan().schedule(), "1f1b");
}

TEST(LoadSpec, BiasIsAShorthand) {
  Spec spec =
      load(nano, {"", {"model.bias=false", "model.mlp_bias=true"}}).spec;
  EXPECT_FALSE(spec.model().attention_qkv_bias());
  EXPECT_FALSE(spec.model().attention_out_bias());
  EXPECT_FALSE(spec.model().norm_bias());
  EXPECT_TRUE(spec.model().mlp_bias());
}

TEST(LoadSpec, RmsNormHasNoBiasByDefault) {
  EXPECT_FALSE(
      load(nano, {"", {"model.norm=RMS_NORM"}}).spec.model().norm_bias());
}

TEST(LoadSpec, AddsWhatAChoiceNeeds) {
  Spec spec = load(nano, {"",
                          {"model.position=ROTARY", "training.precision=FP16",
                           "training.learning_rate.schedule=WSD"}})
                  .spec;
  EXPECT_EQ(spec.model().rope().theta(), 10000);
  EXPECT_FALSE(spec.model().rope().has_scaling());
  EXPECT_EQ(spec.training().loss_scale().initial(), 65536);
  EXPECT_EQ(spec.training().learning_rate().wsd_decay_steps(), 100);
}

TEST(LoadSpec, FewStepsDoNotContradictAWarmUp) {
  Spec spec =
      load(
          nano,
          {"", {"training.learning_rate.warmup_steps=100", "training.steps=0"}})
          .spec;
  EXPECT_EQ(spec.training().learning_rate().decay_steps(), 100);
}

TEST(LoadSpec, PrintedSpecsReadBackUnchanged) {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"model.position=ROTARY", "model.rope.theta=500000",
       "model.rope.scaling.llama3.factor=32", "model.norm=RMS_NORM",
       "model.activation=SWIGLU", "model.bias=false", "model.kv_heads=2",
       "model.qk_norm=true", "model.sliding_window=64",
       "model.tied_embeddings=false"},
      {"training.optimizer.sgd.momentum=0.9", "training.precision=FP16",
       "training.learning_rate.schedule=WSD", "plan.recompute=SELECTIVE",
       "plan.recompute_modules=CORE_ATTN,MLP", "plan.layers_per_stage=6",
       "training.data.split=1,0,0", "training.seed=18446744073709551615",
       "model.head_dim=48", "model.norm_eps=1e-6",
       "cluster.memory_bytes=1073741824"}};
  for (const auto &overrides : variants) {
    std::string once = printSpec(load(nano, {"", overrides}).spec);
    EXPECT_EQ(printSpec(load(once).spec), once);
  }
}

/// Of a spec that names modules too, as those of another mode have no meaning.
TEST(LoadSpec, TheRecomputeFlagReplacesModules) {
  LoadOptions options{
      "", {"plan.recompute=SELECTIVE", "plan.recompute_modules=MLP,CORE_ATTN"}};
  EXPECT_EQ(load(nano, options).spec.plan().recompute_modules_size(), 2);
  options.flags.given = {{"--recompute", "full"}};
  EXPECT_EQ(load(nano, options).spec.plan().recompute_modules_size(), 0);
  options.flags.given = {{"--recompute", "selective"}};
  EXPECT_EQ(load(nano, options).spec.plan().recompute_modules_size(), 2);
}

TEST(LoadSpec, LaterOverridesWin) {
  Spec spec =
      load(nano, {"",
                  {"model.layers=3", "model.layers=5",
                   "training.optimizer.sgd.momentum=0.5",
                   "training.optimizer={adamw{eps: 1e-6}}", "name=other"}})
          .spec;
  EXPECT_EQ(spec.model().layers(), 5);
  EXPECT_EQ(spec.name(), "other");
  EXPECT_TRUE(spec.training().optimizer().has_adamw());
  EXPECT_EQ(spec.training().optimizer().adamw().eps(), 1e-6);
}

TEST(LoadSpec, ListsAreWrittenWholeOrByIndex) {
  Spec spec = load(nano, {"", {"plan.layers_per_stage[0]=6"}}).spec;
  ASSERT_EQ(spec.plan().layers_per_stage_size(), 1);
  EXPECT_EQ(spec.plan().layers_per_stage(0), 6);
  spec = load(nano, {"",
                     {"plan.layers_per_stage=7", //
                      "plan.layers_per_stage[0]=6"}})
             .spec;
  EXPECT_EQ(spec.plan().layers_per_stage_size(), 1);
}

TEST(LoadSpec, ListsOfTextsAreWrittenLikewise) {
  std::vector<std::string> with = {"model.qk_norm=false",
                                   "model.retrieval={layers: 0}",
                                   "training.data.retrieved.corpus=a,\"b c\"",
                                   "training.data.retrieved.corpus[1]=d,e"};
  Spec spec = load(nano, {"", with}).spec;
  const auto &corpus = spec.training().data().retrieved().corpus();
  EXPECT_EQ(std::vector(corpus.begin(), corpus.end()),
            (std::vector<std::string>{"a", "d,e"}));
  with.back() = "training.data.retrieved.corpus[2]=f";
  spec = load(nano, {"", with}).spec;
  EXPECT_EQ(spec.training().data().retrieved().corpus(1), "b c");
  EXPECT_EQ(spec.training().data().retrieved().corpus(2), "f");
}

TEST(LoadSpec, FlagsStandForFields) {
  Spec spec = Spec();
  FieldLocations locations;
  ASSERT_TRUE(applyFlags({{{"--microbatches", "4"},
                           {"--mesh", "pp=2,dp=3,tp=4,cp=5,ep=3,etp=1"},
                           {"--zero", "2"},
                           {"--cp-strategy", "alltoall"},
                           {"--recompute", "auto"},
                           {"--recompute-method", "block"},
                           {"--recompute-num-layers", "3"},
                           {"--schedule", "zb-h1"},
                           {"--virtual-stages", "6"},
                           {"--sequence-parallel", "true"},
                           {"--memory", "1.5KiB"}}},
                         spec, locations)
                  .ok());
  EXPECT_EQ(spec.plan().pipeline_parallel(), 2);
  EXPECT_EQ(spec.plan().data_parallel(), 3);
  EXPECT_EQ(spec.plan().tensor_parallel(), 4);
  EXPECT_EQ(spec.plan().context_parallel(), 5);
  EXPECT_EQ(spec.plan().expert_parallel(), 3);
  EXPECT_EQ(spec.plan().expert_tensor_parallel(), 1);
  EXPECT_EQ(spec.plan().zero_stage(), 2);
  EXPECT_EQ(spec.plan().context_strategy(), Plan::ALL_TO_ALL);
  EXPECT_EQ(spec.plan().recompute(), Plan::AUTO);
  EXPECT_EQ(spec.plan().schedule(), "zb-h1");
  EXPECT_EQ(spec.plan().virtual_stages(), 6);
  EXPECT_TRUE(spec.plan().sequence_parallel());
  EXPECT_EQ(spec.plan().recompute_method(), Plan::BLOCK);
  EXPECT_EQ(spec.plan().recompute_layers(), 3);
  EXPECT_EQ(spec.cluster().memory_bytes(), 1536);
  EXPECT_EQ(spec.training().global_batch_size(), 4 * 3);
  EXPECT_EQ(locations.find("plan.tensor_parallel").str(),
            "--mesh pp=2,dp=3,tp=4,cp=5,ep=3,etp=1");
}

TEST(LoadSpec, BytesHaveUnits) {
  const std::pair<const char *, int64_t> cases[] = {
      {"4096", 4096},
      {"4096B", 4096},
      {"2k", 2000},
      {"500MB", 500'000'000},
      {"0.5Gi", int64_t(1) << 29},
      {"80GiB", int64_t(80) << 30},
      {"2TiB", int64_t(2) << 40}};
  for (auto [text, bytes] : cases) {
    Spec spec;
    FieldLocations locations;
    EXPECT_TRUE(applyFlags({{{"--memory", text}}}, spec, locations).ok());
    EXPECT_EQ(spec.cluster().memory_bytes(), bytes) << text;
  }
  for (const char *text : {"", "GiB", "-1", "0", "1XB", "1 GiB", "1GiBs", "1e3",
                           "2000000000TB", "nan", "inf"}) {
    Spec spec;
    FieldLocations locations;
    EXPECT_EQ(applyFlags({{{"--memory", text}}}, spec, locations).message(),
              "--memory " + std::string(text) +
                  ": S1: expected a number of bytes, like 80GiB, 500MB or "
                  "1000000");
  }
}

TEST(LoadSpec, BadFlagsAreExplained) {
  auto message = [](const char *option, const char *value) {
    Spec spec;
    FieldLocations locations;
    return applyFlags({{{option, value}}}, spec, locations).message();
  };
  EXPECT_EQ(message("--mesh", "xp=2"),
            "--mesh xp=2: S1: \"xp=2\" is no axis and its size; write for "
            "example pp=2,dp=2,tp=2 (axes: pp, dp, cp, tp, ep, etp)");
  EXPECT_EQ(message("--mesh", "dp=2,dp=2"),
            "--mesh dp=2,dp=2: S1: the axis dp is there twice");
  EXPECT_EQ(message("--mesh", "dp=two"),
            "--mesh dp=two: S1: expected a whole number, got \"two\"");
  EXPECT_EQ(message("--cp-strategy", "line"),
            "--cp-strategy line: S1: write one of allgather, ring, alltoall");
  EXPECT_EQ(message("--microbatches", "0"),
            "--microbatches 0: S1: expected a whole number above 0");
}

TEST(LoadSpec, RemembersWhereFieldsWereWritten) {
  LoadedSpec loaded = load("# a comment\nmodel {\n\tlayers: 2 hidden: 8\n"
                           "  heads: 2 vocab_size: 9 }\n"
                           "training { sequence_length: 4 }\n",
                           {"", {"training.steps=7"}});
  EXPECT_EQ(loaded.locations.find("model.hidden").str(), "a.textproto:3:12");
  EXPECT_EQ(loaded.locations.find("model.ffn").str(), "a.textproto:2:1");
  EXPECT_EQ(loaded.locations.find("training.steps").str(),
            "--set training.steps=7");
  EXPECT_EQ(loaded.locations.find("plan.zero_stage").str(), "a.textproto");
}

TEST(LoadSpec, APlanFileReplacesThePlan) {
  std::string path = testing::TempDir() + "plan.textproto";
  std::ofstream(path) << "recompute: FULL\n";
  LoadedSpec loaded =
      load(std::string(nano) + "plan { recompute: SELECTIVE zero_stage: 3 }",
           {path, {}});
  EXPECT_EQ(loaded.spec.plan().recompute(), Plan::FULL);
  EXPECT_EQ(loaded.spec.plan().zero_stage(), 0);
  EXPECT_EQ(loaded.locations.find("plan.recompute").str(), path + ":1:1");
}

/// Counts known from the models' papers and checkpoints.
TEST(Sizes, ParameterCounts) {
  struct Case {
    const char *text;
    int64_t expected;
  };
  const Case cases[] = {
      {"model { layers: 12 hidden: 768 heads: 12 vocab_size: 50257 "
       "max_positions: 1024 }",
       124439808},
      {"model { layers: 48 hidden: 1600 heads: 25 vocab_size: 50257 "
       "max_positions: 1024 }",
       1557611200},
      {"model { layers: 32 hidden: 4096 heads: 32 kv_heads: 8 ffn: 14336 "
       "vocab_size: 128256 max_positions: 8192 norm: RMS_NORM bias: false "
       "activation: SWIGLU position: ROTARY tied_embeddings: false }",
       8030261248},
      {"model { layers: 1 hidden: 8 heads: 2 vocab_size: 5 vocab_padding: 8 "
       "max_positions: 4 position: NONE bias: false ffn: 8 qk_norm: true }",
       8 * 8 + 3 * 8 + 4 * 64 + 2 * 64 + 2 * 4},
  };
  for (const Case &c : cases)
    EXPECT_EQ(parameterCount(load(c.text).spec.model()).get(), c.expected)
        << c.text;
}

} // namespace
