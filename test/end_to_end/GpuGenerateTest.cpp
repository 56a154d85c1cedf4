//===- GpuGenerateTest.cpp - What a model writes on emulated GPUs ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A text has the tokens that the cpu target writes, and each of them, bit for
/// bit, the log-probability that the forward pass of whole sequences gives it
/// on the same GPU, whichever way a prompt is cut, whatever else is asked, and
/// whether or not a token is written by a CUDA graph.
/// Emulated GEMMs sum over k in one order, whatever the number of rows, or,
/// where programs are compiled with --invariant-gemms, in orders that depend on
/// it.
///
//===----------------------------------------------------------------------===//

#include "runtime/inference/Generate.h"
#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/support/TrainedPlans.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::inference;
using namespace hocket::test;

namespace {

constexpr size_t writtenVocabulary = 61;

/// One more than there are rows, of which one is longer than a page.
std::vector<GenerateRequest> someRequests() {
  std::vector<GenerateRequest> requests;
  for (size_t length : {1, 9, 66, 4, 2, 7, 3}) {
    GenerateRequest &request = requests.emplace_back();
    for (size_t i = 0; i < length; ++i)
      request.prompt.push_back(
          int32_t((length * 31 + i * 17) % writtenVocabulary));
    request.tokens = length % 3;
    request.tellsOfPrompt = length == 9;
  }
  return requests;
}

#define SMALL_GPT                                                              \
  "layers: 2 hidden: 32 heads: 2 ffn: 72 vocab_size: 61 max_positions: 80 "    \
  "activation: GELU_TANH "
#define SMALL_LLAMA                                                            \
  "layers: 2 hidden: 64 heads: 4 kv_heads: 2 ffn: 50 vocab_size: 61 "          \
  "max_positions: 80 norm: RMS_NORM activation: SWIGLU position: ROTARY "      \
  "bias: false tied_embeddings: false "
#define SMALL_STATES                                                           \
  "state_space { heads: 4 head_dim: 12 state_size: 10 groups: 2 } "            \
  "layer_kinds { name: \"mamba\" mixer: MAMBA2 position: NONE "                \
  "feed_forward: NO_FEED_FORWARD } "

struct WriterRow {
  ModelRow model;
  const char *mesh, *flags, *training;
  bool gemmsByRows = false; ///< Of the emulated cuBLASLt.
};

class GpuGenerate : public TrainedPlans,
                    public testing::WithParamInterface<WriterRow> {
protected:
  void SetUp() override {
    TrainedPlans::SetUp();
    useEmulatedGpus({.count = 4, .gemmsByRows = GetParam().gemmsByRows});
  }

  std::vector<GeneratedText> textsOf(const std::string &target,
                                     const std::string &flags,
                                     GraphUse graphs = GraphUse::Off) {
    const WriterRow &row = GetParam();
    std::string all =
        std::string(row.flags) + " training.sequence_length=80 " + flags;
    auto requests =
        std::make_shared<const std::vector<GenerateRequest>>(someRequests());
    PlanRow plan{"Plan", target == "cpu" ? "" : row.mesh, 2, all.c_str()};
    ModelOptions options;
    options.graphs = graphs;
    auto texts = generate(compile(row.model, plan, row.training, target),
                          requests, options);
    EXPECT_TRUE(texts.ok()) << texts.status().message();
    return texts.ok() ? texts->texts
                      : std::vector<GeneratedText>(requests->size());
  }
};

/// Bits that `texts` has where `whole` has others.
size_t countDifferent(const std::vector<GeneratedText> &texts,
                      const std::vector<GeneratedText> &whole) {
  size_t count = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    count += texts[i].tokens != whole[i].tokens;
    count += texts[i].logProbabilities != whole[i].logProbabilities;
    count += texts[i].prompt.size() != whole[i].prompt.size();
    for (size_t j = 0; j < texts[i].prompt.size(); ++j)
      count += texts[i].prompt[j].logProbability !=
               whole[i].prompt.at(j).logProbability;
  }
  return count;
}

TEST_P(GpuGenerate, WritesWhatWholeSequencesGive) {
  auto cpu = textsOf("cpu", "--entries generate");
  bool byRows = GetParam().gemmsByRows;
  std::string fixed = byRows ? "--invariant-gemms " : "";
  auto whole = textsOf("cuda", fixed);
  auto expectSame = [&](const std::string &flags, GraphUse graphs) {
    SCOPED_TRACE(flags);
    auto texts = textsOf("cuda", fixed + flags, graphs);
    EXPECT_EQ(countDifferent(texts, whole), 0U);
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(texts[i].tokens, cpu[i].tokens);
      for (size_t j = 0; j < texts[i].tokens.size(); ++j)
        EXPECT_NEAR(texts[i].logProbabilities[j], cpu[i].logProbabilities[j],
                    2e-2 * std::abs(cpu[i].logProbabilities[j]));
    }
  };
  // Prompts in parts of few tokens, and of many.
  expectSame("--entries train,generate", GraphUse::On);
  if (!byRows)
    return expectSame("--entries generate --prefill-tokens 20", GraphUse::Off);
  // Without the flag these GEMMs change bits, which f32 does not round away.
  if (GetParam().training == std::string("precision: FP32"))
    EXPECT_GT(countDifferent(textsOf("cuda", "--entries generate"),
                             textsOf("cuda", "")),
              0U);
}

using GpuTwoStacks = TrainedPlans;

/// An encoder reads prompts that leave room in their rows: the tokens are the
/// cpu target's.
TEST_F(GpuTwoStacks, WriteWhatTheCpuTargetWrites) {
  useEmulatedGpus({.count = 4, .gemmsByRows = false});
  auto requests = std::make_shared<std::vector<GenerateRequest>>();
  for (size_t length : {24, 9, 15, 1, 20})
    for (GenerateRequest &request = requests->emplace_back();
         request.prompt.size() < length; request.tokens = 1 + length % 4)
      request.prompt.push_back(int32_t(
          (length * 31 + request.prompt.size() * 17) % writtenVocabulary));
  std::vector<GeneratedText> cpu;
  for (const char *target : {"cpu", "cuda"}) {
    bool isCpu = target == std::string("cpu");
    PlanRow plan{"Plan", isCpu ? "" : "tp=2,dp=2", 6, "--entries generate"};
    auto texts = generate(compile(twoStacks, plan, "precision: BF16", target),
                          requests, {});
    ASSERT_TRUE(texts.ok()) << texts.status().message();
    if (isCpu)
      cpu = texts->texts;
    for (size_t i = 0; i < requests->size(); ++i) {
      EXPECT_EQ(texts->texts[i].tokens, cpu[i].tokens);
      for (size_t j = 0; j < cpu[i].tokens.size(); ++j)
        EXPECT_NEAR(texts->texts[i].logProbabilities[j],
                    cpu[i].logProbabilities[j],
                    2e-2 * std::abs(cpu[i].logProbabilities[j]));
    }
  }
}

// clang-format off
const WriterRow writers[] = {
    {{"Relative", SMALL_GPT "position: RELATIVE attention_scale: 1 "}, "tp=2,dp=2", "", "precision: BF16"},
    {{"GptTensor", SMALL_GPT}, "tp=2,dp=2", "--sequence-parallel", "precision: BF16"},
    {{"Invariant", SMALL_GPT}, "", "", "precision: FP16", true},
    {{"InvariantExperts", SMALL_LLAMA "moe { experts: 4 top_k: 2 ffn: 24 } "},
     "", "", "precision: FP32", true},
    {{"Llama", SMALL_LLAMA}, "pp=2,dp=2", "", "precision: FP32"},
    {{"Window", SMALL_LLAMA "sliding_window: 21 "}, "tp=2", "", "precision: BF16"},
    {{"Softcaps", SMALL_LLAMA "sliding_window: 21 attention_softcap: 1.5 logit_softcap: 0.8 "
                              "initializer { stddev: 0.2 } "}, "tp=2", "", "precision: BF16"},
    {{"Slopes", "layers: 2 hidden: 96 heads: 6 ffn: 72 vocab_size: 61 max_positions: 80 "
                "position: ALIBI "}, "tp=2", "", "precision: BF16"},
    {{"Experts", SMALL_LLAMA "moe { experts: 4 top_k: 2 ffn: 24 } "},
     "dp=2,ep=2", "", "precision: BF16"},
    {{"States", SMALL_LLAMA SMALL_STATES "layer_kinds { name: \"attention\" } "
                "pattern: \"mamba attention\" "},
     "tp=2,dp=2", "", "precision: BF16"},
    {{"StatesAlone", "layers: 2 hidden: 64 vocab_size: 61 max_positions: 80 norm: RMS_NORM "
                     "position: NONE bias: false " SMALL_STATES "pattern: \"mamba\" "},
     "pp=2", "", "precision: FP32"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Emulated, GpuGenerate, testing::ValuesIn(writers),
                         [](const auto &info) {
                           return std::string(info.param.model.name);
                         });

} // namespace
