//===- BadSpecTest.cpp - Wrong specs, and what is said about them
//---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/frontends/spec/BadSpec.h"
#include "frontends/spec/text/SpecText.h"

#include <gtest/gtest.h>

using namespace hocket::spec;
using namespace hocket::spec::test;

namespace {

struct BadText {
  const char *text;
  const char *message;
};

class BadTexts : public testing::TestWithParam<BadText> {};

TEST_P(BadTexts, AreExplained) {
  EXPECT_EQ(messageOf(GetParam().text), GetParam().message);
}

const BadText badTexts[] = {
    {"model { layerz: 3 }", "a.textproto:1:9: S1: model has no field "
                            "\"layerz\"; did you mean layers?"},
    {"layers: 3",
     "a.textproto:1:1: S1: a spec has no field \"layers\"; did "
     "you mean model.layers, model.encoder.layers or model.vision.layers?"},
    {"model { activation: gelu }",
     "a.textproto:1:21: S1: activation cannot be gelu; write GELU"},
    {"\xEF\xBB\xBFmodel { }",
     "a.textproto:1:1: S1: the file begins with a byte order mark; save it as "
     "UTF-8 without one"},
    {"\xFF\xFEm", "a.textproto:1:1: S1: the file is UTF-16; save it as UTF-8"},
    {"name: \xE2\x80\x9Cnano\xE2\x80\x9D",
     "a.textproto:1:7: S1: a character that is not ASCII stands outside of "
     "quotes and comments"},
    {"model { activation: SWIGLOO }",
     "a.textproto:1:21: S1: activation cannot be SWIGLOO; write SWIGLU"},
    {"model { layers: \"x\" }",
     "a.textproto:1:17: S1: Expected integer, got: \"x\""},
    {"model { layers: 3 layers: 4 }",
     "a.textproto:1:25: S1: Non-repeated field \"layers\" is specified "
     "multiple times."},
    {"model {",
     "a.textproto:1:8: S1: Expected identifier, got: the end of the text"},
    {"model { hidden: 1e3 }",
     "a.textproto:1:17: S1: Expected integer, got: 1e3"},
    {"model { rope { scaling { linear {} llama3 {} } } }",
     "a.textproto:1:43: S1: Field \"llama3\" is specified along with field "
     "\"linear\", another member of oneof \"kind\"."},
    {"model { xyzzyqqq: 1 }",
     "a.textproto:1:9: S1: model has no field \"xyzzyqqq\"; it has layers, "
     "hidden, heads, kv_heads, head_dim, ffn, vocab_size, max_positions, norm, "
     "norm_eps, norm_position, branches, norm_zero_centered, activation, "
     "position, rope, relative_position, "
     "bias, attention_qkv_bias, attention_out_bias, mlp_bias, norm_bias, "
     "embedding_scale, residual_scale, logit_scale, qk_norm, qk_norm_scope, "
     "sliding_window, attention_scale, attention_softcap, logit_softcap, "
     "tied_embeddings, vocab_padding, "
     "dropout, initializer, "
     "moe, state_space, layer_kinds, pattern, attention_mask, token_types, "
     "embedding_norm, "
     "final_norm, head_transform, head_bias, "
     "sentence_head, classes, choices, encoder, vision, "
     "image_token, retrieval or latent_attention"},
    {"model { layers: 1 hidden: 2 heads: 1 vocab_size: 200 max_positions: 9\n"
     "attention_mask: BIDIRECTIONAL classes: 2 }\n"
     "training { classification { pad_token: 101 } }",
     "a.textproto:3:29: S112: training.classification.pad_token is 101, as is "
     "cls_token; write another token"},
    {"model { layers: 1 hidden: 2 heads: 1 vocab_size: 200 max_positions: 9\n"
     "attention_mask: BIDIRECTIONAL choices: 4 }\n"
     "training { micro_batch_size: 6 lora { } }",
     "a.textproto:3:12: S114: training.micro_batch_size is 6 sequences, and a "
     "question has 4 (model.choices); write a multiple of that\n"
     "a.textproto:3:32: S115: with training.lora adapters alone are trained, "
     "and "
     "the head of model.choices would stay as it was drawn; leave lora out, or "
     "freeze other parameters (training.freeze)"},
    {"training { optimizer { adamw {} sgd {} } }",
     "a.textproto:1:37: S1: Field \"sgd\" is specified along with field "
     "\"adamw\", another member of oneof \"kind\"."},
    {"# c\n\tmodel {\n\t\t hidden_size : 3 }",
     "a.textproto:3:4: S1: model has no field \"hidden_size\"; did you mean "
     "hidden?"},
    {"model: 3", "a.textproto:1:8: S1: Expected \"{\", found \"3\"."},
    {"model { bias: 2 }", "a.textproto:1:15: S1: Integer out of range (2)"},
    {"model { layers: 99999999999999999999 }",
     "a.textproto:1:17: S1: Integer out of range (99999999999999999999)"},
    {"training { seed: -1 }", "a.textproto:1:18: S1: Expected integer, got: -"},
    {"\001",
     "a.textproto:1:1: S1: Invalid control characters encountered in text."},
    {"", "a.textproto: S3: model.layers is required; write it\na.textproto: "
         "S3: model.hidden is required; write it\na.textproto: S3: model.heads "
         "is required; write it\na.textproto: S3: model.vocab_size is "
         "required; write it"},
    {"training { learning_rate { schedule: COSINUS } }",
     "a.textproto:1:38: S1: schedule cannot be COSINUS; write COSINE"},
    {"name: \"a/b\" model { layers: 1 hidden: 2 heads: 1 vocab_size: 3 "
     "max_positions: 4 }",
     "a.textproto:1:1: S2: the name of a spec has 1 to 128 letters, digits, "
     "\"-\", \"_\" and \".\", and nothing else"},
    {"model { layers: 1 hidden: 2 heads: 1 vocab_size: 3 mlp_bias: false moe { "
     "experts: 2 capacity_factor: 1 } }",
     "a.textproto: S13: neither training.sequence_length nor "
     "model.max_positions is there; write one"},
    {"model { layers: 1 hidden: 2 heads: 1 vocab_size: 3 }",
     "a.textproto: S13: neither training.sequence_length nor "
     "model.max_positions is there; write one"},
    {"model { dropout { attention: 1 } layers: 1 hidden: 2 heads: 1 "
     "vocab_size: 3 max_positions: 4 }",
     "a.textproto:1:19: S10: model.dropout.attention is 1; write a number of "
     "at least 0 and below 1"},
    {"model { layers: 1 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 rope "
     "{ scaling { } } position: ROTARY }",
     "a.textproto:1:76: S9: model.rope.scaling names no kind; write linear { "
     "}, llama3 { }, yarn { } or dynamic { } in it"},
    {"model { layers: 4 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 }\n"
     "plan { layers_per_stage: [ 1, 2 ] }",
     "a.textproto:2:1: S18: plan.layers_per_stage has 2 entries; write one for "
     "each of the 1 stages (pipeline_parallel * virtual_stages)"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 }\n"
     "training { data { retrieved { } } }",
     "a.textproto:2:19: S127: the model takes in nothing that was retrieved; "
     "write model.retrieval { }, or leave retrieved out"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16\n"
     "  retrieval { layers: 0 chunk_length: 4 retrieved_length: 8 } }\n"
     "training { data { retrieved { pad_token: 9 } } }",
     "a.textproto:3:31: S128: there is no token 9 in a vocabulary of 9"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 "
     "attention_mask: PREFIX }\n"
     "training { prefix_lm { least_share: 0.5 most_share: 0.25 }\n"
     "  data { eod_token: 3 } }",
     "a.textproto:3:10: S120: a sequence has one prefix, and not one of each "
     "document; leave eod_token out\n"
     "a.textproto:2:24: S121: least_share is 0.5, above most_share (0.25); "
     "write at most that"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 "
     "attention_mask: BIDIRECTIONAL\n  token_types: 1 sliding_window: 3 }\n"
     "training { masked_lm { cls_token: 1 sep_token: 2\n"
     "    mask_token: 9 pad_token: 2 mask_share: 0.5 random_share: 0.75 }\n"
     "  data { eod_token: 3 } }",
     "a.textproto:2:3: S83: a sample has two texts, whose tokens are of two "
     "kinds; write token_types: 2, or leave it out\n"
     "a.textproto:4:5: S81: training.masked_lm.mask_token is 9; write a token "
     "of the vocabulary, below 9\n"
     "a.textproto:4:19: S81: training.masked_lm.pad_token is 2, as is "
     "sep_token; write another token\n"
     "a.textproto:4:48: S81: mask_share and random_share are more than 1 "
     "together; write at most 0.5\n"
     "a.textproto:2:18: S82: a window is of tokens before a token; leave "
     "sliding_window out, or write attention_mask: CAUSAL\n"
     "a.textproto:5:10: S82: a sample of masked tokens is of one document; "
     "leave eod_token out"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 "
     "attention_mask: BIDIRECTIONAL\n  position: ALIBI }\n"
     "training { masked_lm { cls_token: 1 sep_token: 2 mask_token: 3 } }",
     "a.textproto:2:3: S92: position: ALIBI tells how far before a token "
     "another is; write attention_mask: CAUSAL, or another position"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 "
     "attention_mask: BIDIRECTIONAL position: RELATIVE\n"
     "  relative_position { buckets: 7 } }\n"
     "training { masked_lm { cls_token: 1 sep_token: 2 mask_token: 3 } }",
     "a.textproto:2:23: S93: tokens before and behind have as many buckets "
     "each, and at least two; write an even number from 4 on"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 "
     "attention_softcap: 3\n"
     "  position: RELATIVE relative_position { max_distance: 16 } }",
     "a.textproto:2:3: S93: scores that distances add to have no softcap; "
     "write another position, or leave attention_softcap out\n"
     "a.textproto:2:42: S93: 16 distances have a bucket of their own, and "
     "max_distance is beyond these; write 17 or more"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16\n"
     "  relative_position { } }",
     "a.textproto:2:3: S93: model.relative_position has no use with position: "
     "LEARNED; write position: RELATIVE, or leave it out"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 "
     "position: RELATIVE\n layer_kinds { name: \"a\" position: NONE } "
     "pattern: \"a\" }",
     "a.textproto:2:26: S93: all layers have one table of relative positions; "
     "write model.position: RELATIVE, and leave position out in "
     "model.layer_kinds[0]"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 "
     "encoder { layers: 1 } }",
     "a.textproto:1:70: S94: a model with an encoder learns corrupted spans; "
     "write training.span_corruption { }, or leave encoder out\n"
     "a.textproto:1:1: S94: positions of two stacks are distances; write "
     "position: RELATIVE or NONE"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 encoder { layers: 1 } "
     "position: RELATIVE\n  relative_position { buckets: 5 } }\n"
     "training { encoder_sequence_length: 9 span_corruption { } }",
     "a.textproto:2:23: S93: tokens before and behind have as many buckets "
     "each, and at least two; write an even number from 4 on"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16 }\n"
     "training { span_corruption { } encoder_sequence_length: 9 }",
     "a.textproto:2:12: S94: corrupted spans are told by a decoder of what an "
     "encoder saw; write model.encoder, or leave span_corruption out\n"
     "a.textproto:2:32: S94: the model has no encoder; write model.encoder, or "
     "leave encoder_sequence_length out"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 position: NONE\n"
     "  encoder { layers: 1 } }\n"
     "training { sequence_length: 3 encoder_sequence_length: 16\n"
     "  span_corruption { first_sentinel: 9 sentinels: 1 noise_density: 0.5 } "
     "}",
     "a.textproto:4:21: S95: training.span_corruption.first_sentinel is 9; "
     "write a token of the vocabulary, below 9\n"
     "a.textproto:3:12: S95: a sample has 17 labels, and "
     "training.sequence_length is 3; write at least 17, or leave it out\n"
     "a.textproto:4:39: S95: a sample has 4 spans, of a sentinel each; write "
     "more sentinels, or a larger mean_span_length"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 max_positions: 16\n"
     "activation: SWIGLU head_transform: true }",
     "a.textproto:2:20: S83: head_transform has one linear layer, and "
     "activation: SWIGLU multiplies two; leave head_transform out, or write "
     "another activation"},
    {"model { layers: 4 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 }\n"
     "training { freeze { role: NORM }\n  freeze { name: \"layers.4.*\" } }",
     "a.textproto:3:3: S70: the model has no parameter of name: "
     "\"layers.4.*\"; `hocket inspect` lists them"},
    {"model { layers: 4 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 "
     "mlp_bias: false moe { experts: 2 } }\n"
     "training { lora { targets: QUERY targets: UP } }",
     "a.textproto:2:34: S74: training.lora.targets has UP, and all layers have "
     "experts alone; write EXPERT_UP, or roles of attention"},
    {"model { layers: 4 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 }\n"
     "training { lora { targets: QUERY targets: EXPERT_DOWN } }",
     "a.textproto:2:34: S74: training.lora.targets has EXPERT_DOWN, and the "
     "model has no experts; write model.moe, or DOWN"},
    {"model { layers: 4 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 "
     "mlp_bias: false moe { experts: 2 } }\n"
     "training { lora { targets: EXPERT_GATE } }",
     "a.textproto:2:19: S73: training.lora.targets has EXPERT_GATE, which a "
     "model with activation: GELU lacks; leave it out"},
    {"model { layers: 4 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 "
     "mlp_bias: false moe { experts: 2 } }\n"
     "training { lora { targets: EXPERT_UP dropout: 0.1 } }",
     "a.textproto:2:38: S116: adapters of experts drop nothing: which rows "
     "they "
     "have is a matter of the plan; leave dropout out, or the EXPERT_ targets"},
    {"model { layers: 4 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 "
     "mlp_bias: false moe { experts: 2 } }\n"
     "training { fp8_format: HYBRID precision: BF16\n"
     "lora { targets: EXPERT_UP } }",
     "a.textproto:2:12: S116: experts that multiply in 8 bits have no "
     "adapters; "
     "leave fp8_format out, or the EXPERT_ targets of training.lora"},
    {"model { layers: 4 hidden: 2 heads: 1 vocab_size: 3 max_positions: 4 }\n"
     "training { sequence_length: 4 }\nplan { context_parallel: 3 }",
     "a.textproto:2:12: S23: training.sequence_length is 4, which 3 ranks do "
     "not share evenly (context_parallel, and tensor_parallel with "
     "sequence_parallel); write a multiple"},
    {"model { layers: 2 hidden: 4 heads: 1 vocab_size: 9 position: NONE\n"
     "  encoder { layers: 1 } }\n"
     "training { sequence_length: 6 encoder_sequence_length: 8\n"
     "  span_corruption { first_sentinel: 8 sentinels: 9 noise_density: 0.2 } "
     "}\n"
     "plan { context_parallel: 3 pipeline_parallel: 2\n"
     "  layers_per_stage: [ 1, 3 ] }",
     "a.textproto:5:1: S18: the entries of plan.layers_per_stage add up to 4; "
     "write as many as model.encoder.layers and model.layers together (3)\n"
     "a.textproto:3:31: S23: training.encoder_sequence_length is 8, which 3 "
     "ranks do not share evenly (context_parallel, and tensor_parallel with "
     "sequence_parallel); write a multiple"},
};
INSTANTIATE_TEST_SUITE_P(All, BadTexts, testing::ValuesIn(badTexts));

struct BadOverride {
  const char *assignment;
  const char *message;
};

class BadOverrides : public testing::TestWithParam<BadOverride> {};

TEST_P(BadOverrides, AreExplained) {
  std::string place = "--set " + elide(GetParam().assignment) + ": ";
  EXPECT_EQ(messageOf(sound, {GetParam().assignment}),
            place + GetParam().message);
}

const BadOverride badOverrides[] = {
    {"model.layer=3",
     "S1: there is no field \"model.layer\"; did you mean model.layers, "
     "model.layer_kinds or model.encoder.layers?"},
    {"layers=4", "S1: there is no field \"layers\"; did you mean model.layers, "
                 "model.encoder.layers or model.vision.layers?"},
    {"hidden_size=4",
     "S1: there is no field \"hidden_size\"; did you mean model.hidden "
     "or model.vision.hidden?"},
    {"model.activation=gelu", "S1: activation cannot be gelu; write GELU"},
    {"training.precision=fp8",
     "S1: precision cannot be fp8; write FP32, BF16 or FP16"},
    {"training.optimizer.beta2=.1",
     "S1: there is no field \"training.optimizer.beta2\"; did you mean "
     "training.optimizer.adamw.beta2 or training.optimizer.adamw.beta1?"},
    {"plan.layers_per_stage[2]=1",
     "S1: layers_per_stage has 0 entries; write layers_per_stage[0] to add "
     "one"},
    {"plan.layers_per_stage[x]=1", "S1: \"layers_per_stage[x]\" is not an "
                                   "entry; write it like layers_per_stage[0]"},
    {"plan.layers_per_stage=1,x", "S1: expected a whole number, got \"x\""},
    {"plan.layers_per_stage=1,1",
     "S18: plan.layers_per_stage has 2 entries; write one for each of the 1 "
     "stages (pipeline_parallel * virtual_stages)"},
    {"plan.layers_per_stage=3", "S18: plan.layers_per_stage has an entry of 3; "
                                "write numbers from 0 to model.layers (2)"},
    {"plan.layers_per_stage=1", "S18: the entries of plan.layers_per_stage add "
                                "up to 1; write as many as model.layers (2)"},
    {"model[0].layers=3",
     "S1: model is not repeated; write it without an index"},
    {"model.layers=x", "S1: expected a whole number, got \"x\""},
    {"model.layers=", "S1: there is no value after \"=\""},
    {"model.layers", "S1: expected PATH=VALUE, for example model.layers=4"},
    {"=3", "S1: expected PATH=VALUE, for example model.layers=4"},
    {"model.layers=99999999999999999999",
     "S1: 99999999999999999999 is out of range"},
    {"model.norm_eps=small", "S1: expected a number, got \"small\""},
    {"model.bias=yes", "S1: expected true or false, got \"yes\""},
    {"training=3", "S1: training is a message; set one of its fields, or write "
                   "all of it in braces"},
    {"model.dropout={resid: 0.1}", "value:1:1: S1: model.dropout has no field "
                                   "\"resid\"; did you mean residual?"},
    {"zzzzzzzz=1", "S1: there is no field \"zzzzzzzz\"; a path begins with "
                   "name, model, training, plan or cluster"},
    {"model..layers=1",
     "S1: there is no field \"model..layers\"; did you mean model.layers, "
     "model.encoder.layers or model.vision.layers?"},
    {"training.seed=-3",
     "S1: expected a whole number that is not negative, got \"-3\""},
    {"model.heads=7", "S5: model.heads is 7, which does not divide "
                      "model.hidden (64); write 8, or model.head_dim as well"},
    {"model.kv_heads=3",
     "S6: model.kv_heads is 3, which does not divide model.heads (4); write 2"},
    {"model.hidden=0",
     "S4: model.hidden is 0; write a number from 1 to 16777216"},
    {"model.vocab_size=2147483648",
     "S4: model.vocab_size is 2147483648; write a number from 1 to 2147483647"},
    {"model.sliding_window=0",
     "S4: model.sliding_window is 0; write a number from 1 to 2147483647"},
    {"model.sliding_window=-5",
     "S4: model.sliding_window is -5; write a number from 1 to 2147483647"},
    {"model.norm_eps=nan",
     "S10: model.norm_eps is nan; write a number above 0 and at most 1"},
    {"model.norm_eps=0",
     "S10: model.norm_eps is 0; write a number above 0 and at most 1"},
    {"model.dropout.residual=1", "S10: model.dropout.residual is 1; write a "
                                 "number of at least 0 and below 1"},
    {"model.dropout.attention=-0.1",
     "S10: model.dropout.attention is -0.1; write a number of at least 0 and "
     "below 1"},
    {"model.attention_scale=inf", "S10: model.attention_scale is inf; write a "
                                  "number above 0 and at most 1e+06"},
    {"model.attention_softcap=0",
     "S10: model.attention_softcap is 0; write a number of at least 1e-06 and "
     "at most 1e+06"},
    {"model.logit_softcap=-30",
     "S10: model.logit_softcap is -30; write a number of at least 1e-06 and at "
     "most 1e+06"},
    {"model.initializer.stddev=-1",
     "S10: model.initializer.stddev is -1; write a number of at least 0 and at "
     "most 1000"},
    {"model.rope.theta=10000",
     "S8: model.rope has no use with position: LEARNED; write position: "
     "ROTARY, or leave rope out"},
    {"model={layers: 2 hidden: 6 heads: 2 vocab_size: 9 max_positions: 4 "
     "position: ROTARY}",
     "S7: the rotary embedding turns pairs, and model.head_dim is 3; write an "
     "even number, or another position"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 norm: "
     "RMS_NORM norm_bias: true}",
     "S11: an RMS norm has no bias; write norm_bias: false, or norm: "
     "LAYER_NORM"},
    {"model.vocab_padding=1048576000",
     "S4: model.vocab_padding is 1048576000; write a number from 1 to 1048576"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe { }}",
     "S30: model.moe.experts is required; write it"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe {experts: 4 top_k: 5}}",
     "S30: model.moe.top_k is 5; write at most model.moe.experts (4)"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe {experts: 8 groups: 3}}",
     "S31: model.moe.groups is 3, which does not divide model.moe.experts (8); "
     "write 2"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe {experts: 8 groups: 4 topk_groups: 5}}",
     "S31: model.moe.topk_groups is 5 of 4 groups; write at most 4"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe {experts: 8 top_k: 3 groups: 4 topk_groups: 1}}",
     "S31: 1 groups of 2 experts have fewer than top_k (3); write more "
     "topk_groups"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 moe "
     "{experts: 8}}",
     "S32: experts have no biases; write mlp_bias: false"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe { experts: 4 first_dense_layers: 1 interval: 2 } }",
     "S33: no layer has experts: of 2 layers 1 are dense, and then every 2th "
     "has experts; write a smaller first_dense_layers or interval"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 131072 "
     "bias: false position: NONE moe { experts: 65536 capacity_factor: 1e5 } }",
     "S34: the experts' rows of a microbatch do not fit 32-bit numbers; write "
     "a smaller micro_batch_size or sequence_length"},
    {"plan={data_parallel: 2 expert_parallel: 2}",
     "S35: plan.expert_parallel is 2, but the model has no experts; leave it "
     "out"},
    {"model.moe.experts=0",
     "S4: model.moe.experts is 0; write a number from 1 to 65536"},
    {"model.moe={experts: 4 capacity_factor: 0}",
     "S10: model.moe.capacity_factor is 0; write a number above 0 and at most "
     "1e+06"},
    {"model.moe={experts: 4 expert_capacity_bound: 0.5}",
     "S10: model.moe.expert_capacity_bound is 0.5; write a number of at least "
     "1 and at most 1e+06"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe { experts: 4 capacity_factor: 1 expert_capacity_bound: 2 } }",
     "S47: model.moe.expert_capacity_bound bounds the rows of ranks that drop "
     "none, and capacity_factor has tokens dropped; write one of them"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe { experts: 4 capacity_factor: 1 beyond_bound: RERUN } }",
     "S90: steps are run again where there is no room for tokens, and "
     "capacity_factor has these dropped; leave one of them out"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe { experts: 4 shared_expert_gate: true } }",
     "S91: shared_expert_gate is of shared experts; write how many "
     "(shared_experts), or leave it out"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 bias: "
     "false moe { experts: 4 choice: SINKHORN bias_rate: 0.1 } }",
     "S97: SINKHORN gives experts their shares by itself; leave bias_rate out, "
     "or write choice: SCORE"},
    {"model.moe={experts: 4 input_jitter: 1}",
     "S10: model.moe.input_jitter is 1; write a number of at least 0 and below "
     "1"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 "
     "position: ALIBI attention_softcap: 50 }",
     "S92: scores that fall with the distance have no softcap; write another "
     "position, or leave attention_softcap out"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 "
     "attention_softcap: 50 layer_kinds { name: \"far\" position: ALIBI } "
     "pattern: \"far\" }",
     "S92: scores that fall with the distance have no softcap; write another "
     "position, or leave attention_softcap out"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 "
     "branches: PARALLEL norm_position: POST }",
     "S98: branches side by side read norms of the layer's input; write "
     "norm_position: PRE, or branches: SEQUENTIAL"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 "
     "branches: PARALLEL layer_kinds { name: \"a\" } layer_kinds { "
     "name: \"b\" mixer: NO_MIXER } pattern: \"a b\" }",
     "S98: a layer without attention or without a feed-forward branch has "
     "nothing to put beside the other; write branches: SEQUENTIAL, or give "
     "every kind of layer both"},
    {"model.dropout={mlp: 0.1 final_norm: 1}",
     "S10: model.dropout.final_norm is 1; write a number of at least 0 and "
     "below 1"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 "
     "bias: false moe { experts: 2 } dropout { mlp: 0.1 } }",
     "S99: dropout.mlp lies within dense MLPs, and rows of experts have none; "
     "leave dropout.mlp or moe out"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 "
     "final_norm: false dropout { final_norm: 0.1 } }",
     "S99: no norm follows the last layer; leave dropout.final_norm out, or "
     "write final_norm: true"},
    {"model.moe={experts: 4 bias_rate: 2}",
     "S10: model.moe.bias_rate is 2; write a number of at least 0 and at most "
     "1"},
    {"training.sequence_length=33",
     "S13: training.sequence_length is 33, but only model.max_positions (32) "
     "positions are learned; write at most that"},
    {"training.global_batch_size=0",
     "S4: training.global_batch_size is 0; write a number from 1 to 16777216"},
    {"training={micro_batch_size: 4 global_batch_size: 6}",
     "S14: training.global_batch_size is 6, which is not a multiple of "
     "micro_batch_size (4); write 8"},
    {"training.steps=-1",
     "S4: training.steps is -1; write a number from 0 to 281474976710656"},
    {"training.clip_norm=-1", "S10: training.clip_norm is -1; write a number "
                              "of at least 0 and at most 1e+30"},
    {"training.clip_norm=nan", "S10: training.clip_norm is nan; write a number "
                               "of at least 0 and at most 1e+30"},
    {"training.learning_rate.minimum=1",
     "S15: the minimum learning rate is 1; write at most the peak (3e-04)"},
    {"training.learning_rate={warmup_steps: 20 decay_steps: 10}",
     "S15: warmup_steps is 20; write at most decay_steps (10)"},
    {"training.learning_rate.wsd_decay_steps=3",
     "S15: wsd_decay_steps has no use with schedule: COSINE; write schedule: "
     "WSD, or leave it out"},
    {"training.learning_rate={schedule: WSD decay_steps: 10 wsd_decay_steps: "
     "11}",
     "S15: wsd_decay_steps is 11; write at most decay_steps - warmup_steps "
     "(10)"},
    {"training.loss_scale.initial=8",
     "S16: a loss scale has no use with precision: FP32; write precision: "
     "FP16, or leave loss_scale out"},
    {"training.fp8_format=HYBRID",
     "S16: fp8_format: HYBRID has no use with precision: FP32; write "
     "precision: BF16, or leave fp8_format out"},
    {"training.fp8_recipe=MXFP8",
     "S60: fp8_recipe: MXFP8 has no use without an fp8_format; write "
     "fp8_format: HYBRID, or leave fp8_recipe out"},
    {"training={precision: FP16 loss_scale { minimum: 2 initial: 1 }}",
     "S16: the minimum loss scale is 2; write at most the initial one (1)"},
    {"training.optimizer.adamw.beta1=1",
     "S10: training.optimizer.adamw.beta1 is 1; write a number of at least 0 "
     "and below 1"},
    {"training.optimizer.sgd.momentum=-1",
     "S10: training.optimizer.sgd.momentum is -1; write a number of at least 0 "
     "and below 1"},
    {"training.data.split=0,1,1",
     "S17: training.data.split is \"0,1,1\"; write one to three shares, the "
     "first above 0, for example \"969,30,1\""},
    {"training.data.split=1,2,3,4",
     "S17: training.data.split is \"1,2,3,4\"; write one to three shares, the "
     "first above 0, for example \"969,30,1\""},
    {"training.data.split=a",
     "S17: training.data.split is \"a\"; write one to three shares, the first "
     "above 0, for example \"969,30,1\""},
    {"training.validation.batches=0",
     "S4: training.validation.batches is 0; write a number from 1 to "
     "281474976710656"},
    {"training.log_interval=0", "S4: training.log_interval is 0; write a "
                                "number from 1 to 281474976710656"},
    {"plan.zero_stage=4",
     "S4: plan.zero_stage is 4; write a number from 0 to 3"},
    {"plan.virtual_stages=2",
     "S18: plan.virtual_stages is 2, which has no use on one pipeline rank; "
     "write 1, or a larger pipeline_parallel"},
    {"training.freeze[0]={}",
     "S70: training.freeze has an entry that says nothing; write a role, as in "
     "{ role: EMBEDDING }, or a name, as in { name: \"layers.0.*\" }"},
    {"training.freeze[0].name=head.wieght",
     "S70: the model has no parameter of name: \"head.wieght\"; `hocket "
     "inspect` lists them"},
    {"training.freeze[0].name=final_norm.wieght",
     "S70: the model has no parameter of name: \"final_norm.wieght\"; did you "
     "mean final_norm.weight or final_norm.bias?"},
    {"training.train_only[0]={role: GATE}",
     "S70: the model has no parameter of role: GATE; `hocket inspect` lists "
     "them"},
    {"training={freeze { role: NORM } train_only { role: UP }}",
     "S71: training.freeze and training.train_only are both written; write "
     "one: what is not trained, or what alone is"},
    {"training.freeze[0].name=*",
     "S72: training.freeze leaves nothing to train; leave an entry out"},
    {"training.lora.targets=NORM",
     "S73: training.lora.targets has NORM, which is no linear layer of a "
     "block; write QUERY, KEY, VALUE, ATTENTION_OUTPUT, GATE, UP or DOWN, or "
     "of "
     "experts EXPERT_GATE, EXPERT_UP or EXPERT_DOWN"},
    {"training.lora.targets=GATE",
     "S73: training.lora.targets has GATE, which a model with activation: GELU "
     "lacks; leave it out"},
    {"training.lora.targets=UP,UP",
     "S73: training.lora.targets has UP twice; write it once"},
    {"training={lora {} freeze { role: NORM }}",
     "S75: training.freeze has no use with training.lora, whose adapters alone "
     "are trained; leave one of them out"},
    {"model.attention_mask=BIDIRECTIONAL",
     "S80: with attention_mask: BIDIRECTIONAL a token sees the next one, which "
     "is nothing to learn; write training.masked_lm { }, or attention_mask: "
     "CAUSAL"},
    {"training.masked_lm={}",
     "S80: masked tokens are learned from both sides; write "
     "model.attention_mask: BIDIRECTIONAL, or leave training.masked_lm out"},
    {"training.prefix_lm={}",
     "S120: tokens see no prefix under another mask; write "
     "model.attention_mask: PREFIX, or leave prefix_lm out"},
    {"model={layers: 2 hidden: 8 heads: 2 max_positions: 8 vocab_size: 200 "
     "attention_mask: PREFIX sliding_window: 4}",
     "S120: a window is of tokens before a token; leave sliding_window out, or "
     "write attention_mask: CAUSAL"},
    {"model={layers: 2 hidden: 8 heads: 2 max_positions: 8 vocab_size: 200 "
     "attention_mask: PREFIX position: ALIBI}",
     "S92: position: ALIBI tells how far before a token another is; write "
     "attention_mask: CAUSAL, or another position"},
    {"model.token_types=2",
     "S83: samples of next tokens have tokens of one kind; leave token_types "
     "out, or write attention_mask: BIDIRECTIONAL"},
    {"model.sentence_head=true",
     "S83: the first token sees no other under a causal mask; leave "
     "sentence_head out, or write attention_mask: BIDIRECTIONAL"},
    {"model.classes=3",
     "S110: the first token sees no other under a causal mask; leave classes "
     "out, or write attention_mask: BIDIRECTIONAL"},
    {"training.classification={}",
     "S110: training.classification is about the samples of a model that tells "
     "classes; write model.classes, or leave it out"},
    {"model={layers: 2 hidden: 8 heads: 2 max_positions: 8 vocab_size: 200 "
     "attention_mask: BIDIRECTIONAL classes: 3 head_bias: true}",
     "S111: head_bias is about a head of tokens, and with model.classes there "
     "is none; leave it out"},
    {"model.classes=1",
     "S4: model.classes is 1; write a number from 2 to 65536"},
    {"training.epochs=2", "S113: training.epochs is about labelled texts, of "
                          "which an epoch has each "
                          "once; write model.classes, or training.steps"},
    {"model.state_space={}",
     "S84: no kind of layer has mixer: MAMBA2; write it in one of "
     "model.layer_kinds, or leave model.state_space out"},
    {"training.lora.rank=0",
     "S4: training.lora.rank is 0; write a number from 1 to 65536"},
    {"plan.recompute=AUTO",
     "S41: plan.recompute is AUTO, which needs to know how many bytes a device "
     "has; write cluster.memory_bytes (--memory 80GiB)"},
    {"plan.recompute_layers=2",
     "S40: plan.recompute is NONE, with which recompute_method and "
     "recompute_layers have no meaning; leave them out, or write FULL"},
    {"plan.recompute_modules=MLP",
     "S40: plan.recompute is NONE, with which recompute_modules has no "
     "meaning; leave it out, or write SELECTIVE"},
    {"plan.recompute_modules=MLP,MOES",
     "S1: recompute_modules cannot be MOES; write MOE"},
    {"plan.tensor_parallel=3",
     "S22: plan.tensor_parallel is 3, which does not divide model.heads (4); "
     "write one of its divisors"},
    {"plan={ context_parallel: 8 context_strategy: ALL_TO_ALL }",
     "S36: plan.context_strategy is ALL_TO_ALL, which deals out key heads, but "
     "model.kv_heads (4) is no multiple of context_parallel * tensor_parallel "
     "(8); write ALL_GATHER or RING, or fewer ranks"},
    {"plan={ tensor_parallel: 2 shardings: \"\" }",
     "S43: plan.shardings is empty; name a file"},
    {"plan={ shardings: \"s\" }",
     "S43: plan.shardings has no use on one rank; leave it out"},
    {"plan={ pipeline_parallel: 2 shardings: \"s\" }",
     "S43: plan.shardings is of programs in one stage; leave "
     "pipeline_parallel and virtual_stages out"},
    {"plan={ context_parallel: 2 shardings: \"s\" }",
     "S43: plan.shardings splits over the data and the tensor axis; leave "
     "context_parallel out"},
    {"cluster.devices=8",
     "S20: cluster.devices is 8, but the plan's axes multiply to 1 ranks "
     "(dp=1); write 1, or leave it out"},
    {"plan.offload=OPTIMIZER",
     "S19: plan.offload is OPTIMIZER; this build does not compile that yet: "
     "write NO_OFFLOAD"},
    {"model={layers: 2 hidden: 8 heads: 2 vocab_size: 9 max_positions: 4 "
     "position: ROTARY rope { scaling { llama3 { low_freq_factor: 4 } } } }",
     "S9: high_freq_factor is 4; write more than low_freq_factor (4)"},
#define ROTARY(rope)                                                           \
  "model={layers: 2 hidden: 12 heads: 2 vocab_size: 9 max_positions: 4 "       \
  "position: ROTARY rope { " rope " } }"
    {ROTARY("scaling { }"),
     "S9: model.rope.scaling names no kind; write linear { }, llama3 { }, "
     "yarn { } or dynamic { } in it"},
    {ROTARY("scaling { dynamic { factor: 2 } }"),
     "S9: model.rope.scaling.dynamic.original_max_positions is required; write "
     "the context that the model was trained with"},
    {ROTARY("rotary_percent: 0.4 scaling { dynamic { factor: 2 "
            "original_max_positions: 4 } }"),
     "S9: dynamic scaling spreads a factor over the pairs that turn, and there "
     "is one; write another scaling, or larger heads"},
    {ROTARY("scaling { yarn { factor: 4 } }"),
     "S9: model.rope.scaling.yarn.original_max_positions is required; write "
     "the context that the model was trained with"},
    {ROTARY("scaling { yarn { beta_fast: 1 original_max_positions: 4 } }"),
     "S9: beta_fast is 1; write more than beta_slow (1)"},
    {ROTARY("theta: 1 scaling { yarn { original_max_positions: 4 } }"),
     "S9: YaRN asks how often a pair turns, and with a theta of 1 all turn "
     "alike; write a greater one"},
    {ROTARY("rotary_percent: 0.7 scaling { yarn { factor: 2 "
            "original_max_positions: 4 } }"),
     "S9: with YaRN's attention_factor, which scales whole heads, all of a "
     "head turns; leave rotary_percent out, or write attention_factor: 1"},
    {ROTARY("rotary_percent: 0.5"),
     "S7: the rotary embedding turns pairs, and the share of model.head_dim "
     "that turns is 3; write an even number, or another position"},
    {ROTARY("rotary_percent: 1.5"),
     "S10: model.rope.rotary_percent is 1.5; write a number above 0 and at "
     "most 1"},
#undef ROTARY
};
INSTANTIATE_TEST_SUITE_P(All, BadOverrides, testing::ValuesIn(badOverrides));

TEST(BadSpec, EveryErrorIsReported) {
  EXPECT_EQ(messageOf("model { layers: 0\n hidden: -1 heads: 1\n"
                      " vocab_size: 1 max_positions: 1 }"),
            "a.textproto:1:9: S4: model.layers is 0; write a number from 1 "
            "to 65536\n"
            "a.textproto:2:2: S4: model.hidden is -1; write a number from 1 "
            "to 16777216");
}

} // namespace
