//===- RetrievalSpecTest.cpp - Specs of models that retrieve --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/model/Retrieval.h"
#include "frontends/spec/model/Sizes.h"
#include "test/frontends/spec/BadSpec.h"

#include <gtest/gtest.h>

using namespace hocket::spec;
using namespace hocket::spec::test;

namespace {

/// Four chunks a sequence, with ten tokens of neighbours each.
constexpr char retrieves[] =
    "model { layers: 4 hidden: 64 heads: 4 vocab_size: 257 max_positions: 32\n"
    "  retrieval { chunk_length: 8 retrieved_length: 5 layers: [1, 3] } }\n";

LoadedSpec loaded(const std::string &text,
                  std::vector<std::string> overrides = {}) {
  auto spec = parseSpec(text, "a.textproto", {"", std::move(overrides)});
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *std::move(spec);
}

struct BadRetrieval {
  std::vector<std::string> overrides;
  const char *message;
};

class BadRetrievals : public testing::TestWithParam<BadRetrieval> {};

TEST_P(BadRetrievals, AreExplained) {
  EXPECT_EQ(messageOf(retrieves, GetParam().overrides), GetParam().message);
}

const BadRetrieval badRetrievals[] = {
    {{"model.retrieval.chunk_length=0"},
     "--set model.retrieval.chunk_length=0: S4: model.retrieval.chunk_length "
     "is 0; write a number from 1 to 1048576"},
    {{"model.retrieval.encoder_dropout=1"},
     "--set model.retrieval.encoder_dropout=1: S10: "
     "model.retrieval.encoder_dropout is 1; write a number of at least 0 and "
     "below 1"},
    {{"training.lora={}"},
     "--set training.lora={}: S122: adapters would be of the encoder too; "
     "leave lora out, or retrieval"},
    {{"model.norm_position=POST"},
     "--set model.norm_position=POST: S122: an encoder inside a layer reads "
     "what its norm makes; leave norm_position out"},
    {{"model.position=ALIBI"},
     "--set model.position=ALIBI: S122: neighbours are at no distance from a "
     "text; write position: LEARNED, ROTARY or NONE"},
    {{"model.qk_norm=true"},
     "--set model.qk_norm=true: S122: attention to neighbours has no norms of "
     "queries and keys; leave qk_norm out"},
    {{"model.retrieval.chunk_length=12"},
     "--set model.retrieval.chunk_length=12: S123: training.sequence_length "
     "is 32, which is not of whole chunks of 12; write a divisor of it"},
    {{"model.retrieval.retrieved_length=33"},
     "--set model.retrieval.retrieved_length=33: S123: a neighbour has 33 "
     "tokens, and the model positions for 32; write a larger "
     "model.max_positions, or a shorter retrieved_length"},
    {{"model.retrieval.layers=1,4"},
     "--set model.retrieval.layers=1,4: S124: the model has no layer 4; write "
     "one from 0 to 3"},
    {{"model.retrieval.layers=3,3"},
     "--set model.retrieval.layers=3,3: S124: layer 3 stands behind layer 3; "
     "write each once, in ascending order"},
    {{"plan.context_parallel=8", "model.retrieval.neighbors=1"},
     "a.textproto:2:31: S125: the neighbours of a sequence have 20 tokens, "
     "which 8 ranks along context_parallel and, with sequence_parallel, "
     "tensor_parallel cannot share; write a multiple of 8"},
    {{"model.retrieval.chunk_length=1", "model.retrieval.neighbors=1024",
      "model.retrieval.retrieved_length=1048576", "model.position=NONE"},
     "--set model.retrieval.neighbors=1024: S126: the neighbours of a sequence "
     "have 34359738368 tokens, more than 2147483647; write fewer neighbors, a "
     "shorter retrieved_length or a longer chunk_length"},
};

INSTANTIATE_TEST_SUITE_P(Specs, BadRetrievals,
                         testing::ValuesIn(badRetrievals));

TEST(RetrievalSpec, AttendsWhereMegatronDoes) {
  EXPECT_EQ(usualRetrievalLayers(12), (std::vector<int64_t>{5, 8, 11}));
  EXPECT_EQ(usualRetrievalLayers(15), (std::vector<int64_t>{5, 8, 11, 14}));
  EXPECT_EQ(usualRetrievalLayers(16), (std::vector<int64_t>{8, 11, 14}));
  EXPECT_TRUE(usualRetrievalLayers(5).empty());
  const LoadedSpec spec =
      loaded("model { layers: 6 hidden: 64 heads: 4 vocab_size: 257 "
             "max_positions: 256 retrieval { } "
             "dropout { attention: 0.1 residual: 0.2 } }");
  const Retrieval &retrieval = spec.spec.model().retrieval();
  ASSERT_EQ(retrieval.layers_size(), 1);
  EXPECT_EQ(retrieval.layers(0), 5);
  EXPECT_EQ(retrieval.encoder_dropout(), 0.2);
  EXPECT_EQ(retrieval.encoder_attention_dropout(), 0.1);
  EXPECT_EQ(chunksOf(spec.spec), 4);
  EXPECT_EQ(neighborTokens(spec.spec), 1024);
  EXPECT_EQ(messageOf("model { layers: 5 hidden: 64 heads: 4 vocab_size: 257 "
                      "max_positions: 256\n retrieval { } }"),
            "a.textproto:2:2: S124: of 5 layers none is the sixth, from which "
            "on Megatron-LM's attend to neighbours; name them, as in layers: "
            "[0]");
}

TEST(RetrievalSpec, CountsParameters) {
  for (const char *overrides :
       {"model.bias=true", "model.bias=false", "model.norm=RMS_NORM",
        "model.retrieval.encoder_layers=3", "model.activation=SWIGLU"}) {
    const LoadedSpec spec = loaded(retrieves, {overrides});
    int64_t total = 0;
    for (const Parameter &parameter : modelParameters(spec.spec)) {
      int64_t elements = 1;
      for (int64_t size : parameter.shape)
        elements *= size;
      total += elements;
    }
    EXPECT_EQ(parameterCount(spec.spec.model()).get(), total) << overrides;
  }
}

TEST(RetrievalSpec, HasOneEncoder) {
  int encoders = 0, firstLayers = 0, crossings = 0;
  for (const Parameter &parameter : modelParameters(loaded(retrieves).spec)) {
    encoders +=
        parameter.name.ends_with("cross_attention.encoder.layers.1.mlp_norm."
                                 "weight");
    firstLayers += parameter.name ==
                   "layers.1.cross_attention.encoder.layers.0.cross_attention."
                   "q.weight";
    crossings += parameter.name == "layers.3.cross_attention.q.weight" ||
                 parameter.name == "layers.1.cross_attention.q.weight";
  }
  EXPECT_EQ(encoders, 1);
  EXPECT_EQ(firstLayers, 1);
  EXPECT_EQ(crossings, 2);
}

} // namespace
