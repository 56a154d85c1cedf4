//===- EquivalenceTest.cpp - Compiled training and the reference ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Trains tiny models of every family as a compiled program on the cpu driver
/// and in the reference evaluator, from the same first values on the same
/// tokens, and compares what every step reports and what is left at the end.
/// How far apart they may be is measured by references that round and one that
/// does not. Dropout only fits into that if every mask is the same.
///
//===----------------------------------------------------------------------===//

#include "runtime/program/Entries.h"
#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/ReferenceModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace hocket;
using namespace hocket::test;

namespace {

struct EquivalenceCase {
  const char *name;
  const char *model, *training;            ///< Fields of the two messages.
  std::vector<std::string> overrides = {}; ///< As of `--set`.
};

std::ostream &operator<<(std::ostream &out, const EquivalenceCase &choice) {
  return out << choice.name;
}

std::string specOf(const EquivalenceCase &choice) {
  std::string text = "name: \"tiny\"\nmodel { layers: 2 hidden: 32 heads: 4 "
                     "vocab_size: 29 initializer { stddev: 0.2 } ";
  text += choice.model;
  text += " }\ntraining { micro_batch_size: 2 global_batch_size: 6 "
          "sequence_length: 7 seed: 77 ";
  text += choice.training;
  return text + " }\n";
}

/// AdamW whose epsilon keeps gradients that are only rounding from moving
/// anything.
#define ADAMW "optimizer { adamw { eps: 1e-3 weight_decay: 0.1 } } "

#define MIXTRAL                                                                \
  "kv_heads: 2 norm: RMS_NORM activation: SWIGLU position: ROTARY bias: "      \
  "false tied_embeddings: false ffn: 40 "

#define MAMBA2                                                                 \
  "norm: RMS_NORM position: NONE bias: false layer_kinds { name: \"mamba\" "   \
  "mixer: MAMBA2 feed_forward: NO_FEED_FORWARD } pattern: \"mamba\" "          \
  "state_space { heads: 4 head_dim: 10 state_size: 6 "
#define BAMBA                                                                  \
  "kv_heads: 2 ffn: 40 norm: RMS_NORM activation: SWIGLU position: ROTARY "    \
  "bias: false tied_embeddings: false state_space { heads: 4 head_dim: 16 "    \
  "state_size: 12 conv_width: 3 conv_bias: false } layer_kinds { name: "       \
  "\"mamba\" mixer: MAMBA2 position: NONE } layer_kinds { name: "              \
  "\"attention\" } pattern: \"mamba attention\" "

#define BERT                                                                   \
  "attention_mask: BIDIRECTIONAL token_types: 2 embedding_norm: true "         \
  "head_transform: true head_bias: true sentence_head: true "
#define MASKED "masked_lm { cls_token: 1 sep_token: 2 mask_token: 3 } "

#define VISION                                                                 \
  "vision { layers: 3 hidden: 20 heads: 2 ffn: 28 image_size: 6 patch_size: "  \
  "3 } image_token: 3 "
#define IMAGES "images_per_sequence: 2 "

#define RETRIEVAL                                                              \
  "retrieval { layers: [0, 1] chunk_length: 4 neighbors: 2 "                   \
  "retrieved_length: 3 "

#define RELATIVE                                                               \
  "position: RELATIVE relative_position { buckets: 8 max_distance: 6 } "       \
  "attention_scale: 1 "

const EquivalenceCase cases[] = {
    {"gpt2", "", ADAMW},
    {"dropout", "dropout { attention: 0.2 residual: 0.3 embedding: 0.1 }",
     ADAMW},
    {"llama",
     "kv_heads: 2 norm: RMS_NORM activation: SWIGLU position: ROTARY bias: "
     "false qk_norm: true tied_embeddings: false ffn: 40",
     ADAMW},
    {"llama3_scaled_rope",
     "kv_heads: 1 norm: RMS_NORM activation: SILU position: ROTARY rope { "
     "theta: 500 scaling { llama3 { factor: 4 original_max_positions: 16 } } "
     "} attention_scale: 0.3",
     ADAMW},
    {"window", "sliding_window: 3 activation: GELU_TANH", ADAMW},
    {"softcaps",
     "attention_softcap: 0.7 logit_softcap: 0.9 dropout { attention: 0.2 }",
     ADAMW},
    {"alibi", "position: ALIBI embedding_norm: true kv_heads: 2", ADAMW},
    {"relative", RELATIVE "kv_heads: 2 norm: RMS_NORM bias: false", ADAMW},
    {"bf16_relative", RELATIVE "bias: false", ADAMW "precision: BF16"},
    {"relative_bert",
     RELATIVE BERT,
     ADAMW MASKED,
     {"training.sequence_length=9"}},
    {"post_norm_geglu",
     "norm_position: POST activation: GEGLU dropout { residual: 0.1 }", ADAMW},
    {"relu_squared", "activation: RELU_SQUARED position: NONE", ADAMW},
    {"padded_vocabulary", "vocab_padding: 16", ADAMW},
    {"padded_untied", "vocab_padding: 32 tied_embeddings: false", ADAMW},
    {"long_positions", "max_positions: 19", ADAMW},
    {"sgd_momentum", "",
     "optimizer { sgd { momentum: 0.9 weight_decay: 0.05 } } clip_norm: 0"},
    {"sgd_plain", "activation: RELU", "optimizer { sgd { } } clip_norm: 0"},
    // Documents that share sequences.
    {"masked_labels", "", ADAMW "data { eod_token: 1 eod_mask_loss: true }"},
    {"documents", "dropout { attention: 0.2 }",
     ADAMW "data { eod_token: 1 eod_mask_loss: true reset_attention_mask: true "
           "reset_position_ids: true }"},
    {"documents_of_windows",
     "kv_heads: 2 position: ROTARY sliding_window: 2",
     ADAMW "data { eod_token: 1 reset_attention_mask: true }",
     {"plan.recompute=SELECTIVE"}},
    {"positions_of_documents",
     "kv_heads: 2 position: ROTARY qk_norm: true",
     ADAMW "data { eod_token: 1 reset_position_ids: true }",
     {"plan.recompute=FULL"}},
    {"bf16_softcaps",
     "kv_heads: 2 position: ROTARY attention_softcap: 0.7 logit_softcap: 0.9",
     ADAMW "precision: BF16"},
    {"bf16_documents", "",
     ADAMW "precision: BF16 data { eod_token: 1 eod_mask_loss: true "
           "reset_attention_mask: true reset_position_ids: true }"},
    {"bf16_documents_rotary",
     "kv_heads: 2 position: ROTARY norm: RMS_NORM activation: SWIGLU",
     ADAMW "precision: BF16 data { eod_token: 1 reset_attention_mask: true "
           "reset_position_ids: true }"},
    {"fp16_documents", "",
     ADAMW "precision: FP16 loss_scale { initial: 1024 growth_interval: 2 } "
           "data { eod_token: 1 eod_mask_loss: true }"},
    {"long_documents",
     "kv_heads: 2 dropout { attention: 0.1 }",
     ADAMW "data { eod_token: 1 reset_attention_mask: true }",
     {"training.sequence_length=131", "training.micro_batch_size=1",
      "training.global_batch_size=2"}},
    // Encoders.
    {"bert",
     BERT "norm_position: POST final_norm: false",
     ADAMW MASKED,
     {"training.sequence_length=9"}},
    {"bert_of_megatron",
     BERT "dropout { attention: 0.2 residual: 0.1 "
          "embedding: 0.1 }",
     ADAMW MASKED,
     {"training.sequence_length=9", "plan.recompute=FULL"}},
    {"long_bert",
     BERT "kv_heads: 2 bias: false vocab_padding: 16 "
          "tied_embeddings: false",
     ADAMW MASKED,
     {"training.sequence_length=131", "training.micro_batch_size=1",
      "training.global_batch_size=2"}},
    {"masked_llama",
     "attention_mask: BIDIRECTIONAL kv_heads: 2 norm: RMS_NORM activation: "
     "SWIGLU position: ROTARY bias: false",
     ADAMW MASKED,
     {"training.sequence_length=9"}},
    {"bf16_bert",
     BERT "norm_position: POST final_norm: false",
     ADAMW "precision: BF16 " MASKED,
     {"training.sequence_length=9"}},
    {"fp16_bert",
     BERT "norm_position: POST final_norm: false",
     ADAMW
     "precision: FP16 loss_scale { initial: 1024 growth_interval: 2 } " MASKED,
     {"training.sequence_length=9", "plan.recompute=SELECTIVE"}},
    // Images.
    {"images",
     "kv_heads: 2 norm: RMS_NORM activation: SWIGLU position: ROTARY bias: "
     "false tied_embeddings: false " VISION,
     ADAMW IMAGES,
     {"training.sequence_length=11"}},
    {"images_with_dropout",
     "dropout { attention: 0.2 residual: 0.1 embedding: 0.1 } " VISION,
     ADAMW IMAGES "freeze { name: \"vision.*\" }",
     {"training.sequence_length=11", "plan.recompute=FULL",
      "model.vision.select=ALL", "model.vision.feature_layer=1"}},
    {"bf16_images",
     VISION,
     ADAMW "precision: BF16 " IMAGES,
     {"training.sequence_length=11", "plan.recompute=SELECTIVE"}},
    // What was retrieved.
    {"retrieval", RETRIEVAL "}", ADAMW, {"training.sequence_length=12"}},
    {"retrieval_with_dropout",
     "dropout { attention: 0.2 residual: 0.1 embedding: 0.1 } " RETRIEVAL
     "encoder_layers: 3 encoder_dropout: 0.3 encoder_attention_dropout: 0.1 }",
     ADAMW,

     {"training.sequence_length=12", "plan.recompute=FULL"}},
    {"retrieval_by_rotary",
     "kv_heads: 2 norm: RMS_NORM activation: SWIGLU position: ROTARY bias: "
     "false tied_embeddings: false sliding_window: 5 " RETRIEVAL
     "encoder_layers: 1 }",
     ADAMW,
     {"training.sequence_length=12", "plan.recompute=SELECTIVE"}},
    {"bf16_retrieval",
     RETRIEVAL "}",
     ADAMW "precision: BF16 ",

     {"training.sequence_length=8"}},
    {"decay_everything", "qk_norm: true",
     "optimizer { adamw { eps: 1e-3 weight_decay: 0.5 } "
     "decay_norms_and_biases: true }"},
    {"odd_head", "head_dim: 11 kv_heads: 2 position: NONE", ADAMW},
    {"clipped", "", ADAMW "clip_norm: 0.05"},
    {"bf16", "dropout { attention: 0.2 residual: 0.3 embedding: 0.1 }",
     ADAMW "precision: BF16"},
    {"bf16_llama",
     "kv_heads: 2 norm: RMS_NORM activation: SWIGLU position: ROTARY bias: "
     "false qk_norm: true tied_embeddings: false",
     ADAMW "precision: BF16"},
    {"fp16", "dropout { attention: 0.2 residual: 0.3 embedding: 0.1 }",
     ADAMW "precision: FP16 loss_scale { initial: 1024 growth_interval: 2 }"},
    // Sizes at which kernels have ends: of blocks of rows, vectors and tasks.
    {"long_sequence",
     "kv_heads: 2 sliding_window: 67 dropout { attention: 0.1 }",
     ADAMW,
     {"training.sequence_length=131", "training.micro_batch_size=1",
      "training.global_batch_size=2"}},
    {"odd_sizes",
     "head_dim: 5 kv_heads: 1 ffn: 37 vocab_padding: 3 dropout { residual: 0.2 "
     "embedding: 0.2 attention: 0.5 }",
     ADAMW,
     {"model.hidden=27", "model.heads=3", "model.vocab_size=101",
      "training.micro_batch_size=3"}},
    {"bf16_odd_sizes",
     "head_dim: 5 kv_heads: 1 ffn: 37 vocab_padding: 3 tied_embeddings: false",
     ADAMW "precision: BF16",
     {"model.hidden=27", "model.heads=3", "model.vocab_size=101",
      "plan.recompute=SELECTIVE"}},
    {"one_token",
     "norm_eps: 1e-3",
     ADAMW,
     {"training.sequence_length=1", "training.micro_batch_size=3",
      "model.layers=1", "model.heads=1"}},
    {"some_biases",
     "attention_qkv_bias: true attention_out_bias: false mlp_bias: false "
     "norm_bias: true bias: false rope { scaling { linear { factor: 2 } } } "
     "position: ROTARY activation: RELU_SQUARED",
     ADAMW,
     {"plan.recompute=FULL"}},
    // State-space layers.
    {"mamba2", MAMBA2 "groups: 2 norm_groups: 2 bias: true step_most: 0.08 } ",
     ADAMW},
    {"bamba",
     BAMBA,
     ADAMW,
     {"training.sequence_length=23", "plan.recompute=SELECTIVE"}},
    {"bamba_again", BAMBA, ADAMW, {"plan.recompute=FULL"}},
    {"bf16_bamba", BAMBA, ADAMW "precision: BF16"},
    // Mixtures of experts.
    {"moe", MIXTRAL "moe { experts: 4 ffn: 24 aux_loss: 0.05 z_loss: 0.01 }",
     ADAMW},
    {"moe_microbatch_loss",
     MIXTRAL "moe { experts: 4 ffn: 24 aux_loss: 0.05 aux_loss_scope: "
             "MICROBATCH }",
     ADAMW},
    {"moe_capacity",
     MIXTRAL "moe { experts: 4 capacity_factor: 0.7 z_loss: 0.01 } "
             "dropout { attention: 0.2 residual: 0.3 embedding: 0.1 }",
     ADAMW},
    {"moe_sigmoid_bias",
     MIXTRAL "moe { experts: 6 top_k: 2 ffn: 24 shared_experts: 1 scores: "
             "SIGMOID bias_rate: 0.05 scale: 1.5 first_dense_layers: 1 }",
     ADAMW},
    {"moe_groups",
     "bias: false moe { experts: 8 top_k: 3 ffn: 17 shared_experts: 2 scores: "
     "SIGMOID groups: 4 topk_groups: 2 bias_rate: 0.02 aux_loss: 0.1 "
     "capacity_factor: 1.2 renormalise: false }",
     ADAMW},
    {"moe_recompute",
     MIXTRAL "moe { experts: 4 top_k: 1 aux_loss: 0.05 interval: 2 "
             "renormalise: false } dropout { residual: 0.1 }",
     ADAMW,
     {"plan.recompute=FULL"}},
    {"moe_selective",
     MIXTRAL "moe { experts: 4 aux_loss: 0.05 bias_rate: 0.01 }",
     ADAMW,
     {"plan.recompute=SELECTIVE"}},
    {"moe_modules",
     MIXTRAL "moe { experts: 4 shared_experts: 1 capacity_factor: 1.2 }",
     ADAMW,
     {"plan.recompute=SELECTIVE",
      "plan.recompute_modules=CORE_ATTN,MOE,SHARED_EXPERTS"}},
    // All are chosen: a choice that rounding turns would be another model.
    {"moe_bf16", MIXTRAL "moe { experts: 3 top_k: 3 aux_loss: 0.05 }",
     ADAMW "precision: BF16"},
    {"moe_bf16_capacity",
     MIXTRAL "moe { experts: 2 top_k: 2 z_loss: 0.01 capacity_factor: 0.6 }",
     ADAMW "precision: BF16"},
    {"moe_fp16",
     MIXTRAL "moe { experts: 2 top_k: 2 aux_loss: 0.05 z_loss: 0.01 "
             "bias_rate: 0.01 }",
     ADAMW "precision: FP16 loss_scale { initial: 1024 growth_interval: 2 }"},
};

/// What a model did: three steps, and one batch that it had not seen.
struct Record {
  std::vector<StepNumbers> steps;
  ModelState state;
  double evaluation;
  std::vector<double> labels;
};

/// How far apart two runs are at most, relative, and where. Of a tensor the
/// difference counts beside how far it has moved from its first value.
struct Distances {
  struct Furthest {
    double value = 0;
    std::string where = "nowhere";

    void add(double difference, double size, const std::string &what) {
      double relative = std::abs(difference) / std::max(std::abs(size), 1e-3);
      // What is no number is further than everything.
      if (relative <= value)
        return;
      value = std::isnan(relative) ? std::numeric_limits<double>::infinity()
                                   : relative;
      where = what;
    }
    void add(const Furthest &other) { add(other.value, 1, other.where); }
  };
  Furthest losses, norms, labels, tensors;

  void add(const Distances &other) {
    losses.add(other.losses), norms.add(other.norms);
    labels.add(other.labels), tensors.add(other.tensors);
  }
};

void addSteps(Distances &apart, const Record &actual, const Record &expected) {
  ASSERT_EQ(actual.steps.size(), expected.steps.size());
  for (size_t step = 0; step < expected.steps.size(); ++step) {
    const StepNumbers &one = actual.steps[step], &other = expected.steps[step];
    std::string when = "step " + std::to_string(step);
    ASSERT_EQ(one.losses.size(), other.losses.size()) << when;
    for (size_t i = 0; i < other.losses.size(); ++i)
      apart.losses.add(one.losses[i] - other.losses[i], other.losses[i],
                       when + ", microbatch " + std::to_string(i));
    for (const auto &[name, value] : other.numbers) {
      ASSERT_TRUE(one.numbers.count(name)) << name;
      if (name == "grad_norm")
        apart.norms.add(one.numbers.at(name) - value, value, when);
      else
        EXPECT_EQ(one.numbers.at(name), value) << when << ", " << name;
    }
  }
  apart.losses.add(actual.evaluation - expected.evaluation, expected.evaluation,
                   "evaluation");
}

/// Those that hardly move count beside the mean, in which counts of tokens
/// would stand out.
void addTensors(Distances &apart, const ModelState &actual,
                const ModelState &expected, const ModelState &first) {
  double mean = 0;
  for (const auto &[name, values] : expected)
    if (!name.ends_with(".counts"))
      mean += distance(values, first.at(name)) / double(expected.size());
  ASSERT_GT(mean, 0);
  for (const auto &[name, values] : expected) {
    ASSERT_EQ(actual.at(name).size(), values.size()) << name;
    double moved = distance(values, first.at(name));
    double size = std::max(moved, 0.3 * mean);
    apart.tensors.add(distance(actual.at(name), values) / size, 1, name);
  }
}

Distances distancesOf(const Record &actual, const Record &expected,
                      const ModelState &first, const data::Batch &unseen) {
  Distances apart;
  addSteps(apart, actual, expected);
  addTensors(apart, actual.state, expected.state, first);
  EXPECT_EQ(actual.labels.size(), expected.labels.size());
  for (size_t i = 0; i < expected.labels.size(); ++i)
    if (unseen.labels[i] >= 0)
      apart.labels.add(actual.labels.at(i) - expected.labels[i],
                       expected.labels[i], "label " + std::to_string(i));
  return apart;
}

/// `state` with each number one unit of f32 higher or lower, by chance.
ModelState nudged(ModelState state, unsigned seed) {
  std::minstd_rand chance(seed);
  for (auto &[name, values] : state)
    for (double &value : values)
      if (!name.starts_with("state.")) // Scales and counts.
        value *= 1 + (chance() % 2 == 0 ? 0x1p-23 : -0x1p-23);
  return state;
}

/// A compiled program rounds where the reference does, or less often, but adds
/// in another order: its errors are of the size of the reference's, not the
/// same, and two that are each as large are at most twice that apart. The
/// reference adds in f64; a sum of f32 over a hundred numbers, in eight lanes
/// or more, is of some 16 additions, which add errors of sqrt(16 / 3) = 2.3
/// roundings to the one of its result.
constexpr double kLooseness = 2 * 3.3;

void expectWithin(const char *what, const Distances::Furthest &actual,
                  const Distances::Furthest &rounding) {
  EXPECT_LT(rounding.value, 0.2)
      << what << ": nothing but rounding is compared";
  EXPECT_LE(actual.value, kLooseness * rounding.value)
      << what << ": " << actual.where << "; rounding alone: " << rounding.value
      << ", " << rounding.where;
}

/// The batches that a program wants.
struct Feed {
  uint64_t rows, length, vocabulary, microbatches;
  program::TrainingInfo::Images images;
  uint64_t neighbors; ///< Tokens of a sequence.

  explicit Feed(const program::Program &program)
      : rows(program.training().micro_batch_size()),
        length(program.model().sequence_length()),
        vocabulary(program.model().vocab_size()),
        microbatches(program.training().microbatches()),
        images(program.training().images()),
        neighbors(neighborTokensOf(program)) {}

  data::Batch batch(uint64_t index) const {
    data::Batch batch = fixedBatch(index, rows, length, vocabulary);
    if (images.images() > 0) {
      uint64_t side = images.image_size() / images.patch_size();
      addImages(batch, images.images(), side * side + 1,
                3 * images.patch_size() * images.patch_size());
    }
    if (neighbors > 0)
      addNeighbors(batch, neighbors, vocabulary);
    return batch;
  }
  std::vector<data::Batch> step(uint64_t step) const {
    std::vector<data::Batch> batches;
    for (uint64_t i = 0; i < microbatches; ++i)
      batches.push_back(batch(step * microbatches + i));
    return batches;
  }
};

class Equivalence : public testing::TestWithParam<EquivalenceCase> {};

template <class Model>
Record recordOf(Model &model, const Feed &feed, const data::Batch &unseen) {
  Record record;
  for (uint64_t step = 0; step < 3; ++step)
    record.steps.push_back(
        model.run(step, 0.01 * double(step + 1), feed.step(step)));
  record.state = model.state();
  record.evaluation = model.evaluate(unseen);
  return record;
}

} // namespace

TEST_P(Equivalence, TrainsAsTheReference) {
  const EquivalenceCase &choice = GetParam();
  std::string spec = specOf(choice);
  CompileChoice how{choice.overrides};
  program::Program program = compileProgram(spec, how);
  Feed feed(program);
  data::Batch unseen = feed.batch(1000);
  CompiledModel compiled(std::move(program));
  ASSERT_TRUE(compiled.valid);
  ModelState first = compiled.state();
  Record actual = recordOf(compiled, feed, unseen);
  std::vector<float> labels = compiled.labels(unseen);
  actual.labels.assign(labels.begin(), labels.end());

  std::string text = compileXf(spec, how);
  auto referenceOf = [&](xf::Rounding rounding, const ModelState &state) {
    ReferenceModel reference(text, 77, rounding, state);
    EXPECT_TRUE(reference.valid);
    Record record = recordOf(reference, feed, unseen);
    record.labels = reference.labels();
    return record;
  };
  // What rounding does is told by several that round (CESTAC: Vignes, "Discrete
  // stochastic arithmetic", 2004): where one row is sensitive and decides, the
  // error of a single one may be small by chance.
  Record exact = referenceOf(xf::Rounding::None, first);
  Record rounded = referenceOf(xf::Rounding::All, first);
  Distances rounding = distancesOf(rounded, exact, first, unseen);
  for (unsigned seed : {1, 2})
    rounding.add(
        distancesOf(referenceOf(xf::Rounding::All, nudged(first, seed)), exact,
                    first, unseen));
  bool narrow =
      std::string(choice.training).find("precision") != std::string::npos;
  Distances apart =
      distancesOf(actual, narrow ? rounded : exact, first, unseen);
  expectWithin("losses", apart.losses, rounding.losses);
  expectWithin("norms", apart.norms, rounding.norms);
  expectWithin("labels", apart.labels, rounding.labels);
  expectWithin("tensors", apart.tensors, rounding.tensors);
}

static std::string nameOf(const testing::TestParamInfo<EquivalenceCase> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Families, Equivalence, testing::ValuesIn(cases),
                         nameOf);

//===----------------------------------------------------------------------===//
// As front ends write it
//===----------------------------------------------------------------------===//

namespace {

/// The rows of `batches`, each a batch of its own. All labels count, so that
/// the mean of a microbatch is the mean over its sequences.
std::vector<data::Batch> sequencesOf(std::vector<data::Batch> &batches) {
  std::vector<data::Batch> result;
  for (data::Batch &batch : batches) {
    std::ranges::replace(batch.labels, -1, 0);
    for (size_t i = 0; i < batch.tokens.size(); i += batch.sequenceLength) {
      auto row = [&](const std::vector<int32_t> &values) {
        auto first = values.begin() + ptrdiff_t(i);
        return std::vector<int32_t>(first,
                                    first + ptrdiff_t(batch.sequenceLength));
      };
      data::Batch one;
      one.sequenceLength = batch.sequenceLength;
      one.tokens = row(batch.tokens), one.labels = row(batch.labels);
      one.positions = row(batch.positions);
      one.tokenTypes = row(batch.tokenTypes);
      one.keyCounts = row(batch.keyCounts);
      one.sentenceLabels = row(batch.sentenceLabels);
      if (!batch.neighbors.empty()) {
        size_t each =
            batch.neighbors.size() * batch.sequenceLength / batch.tokens.size();
        auto first = batch.neighbors.begin() +
                     ptrdiff_t(i / batch.sequenceLength * each);
        one.neighbors.assign(first, first + ptrdiff_t(each));
      }
      if (!batch.pixels.empty()) {
        one.imageRows = row(batch.imageRows);
        size_t sequence = i / batch.sequenceLength;
        size_t each =
            batch.pixels.size() * batch.sequenceLength / batch.tokens.size();
        auto first = batch.pixels.begin() + ptrdiff_t(sequence * each);
        one.pixels.assign(first, first + ptrdiff_t(each));
      }
      result.push_back(std::move(one));
    }
  }
  return result;
}

/// Those of f32: nothing is rounded, and no scale is that of a microbatch.
std::vector<EquivalenceCase> plainCases() {
  std::vector<EquivalenceCase> result;
  for (const EquivalenceCase &choice : cases)
    if (std::string(choice.training).find("precision") == std::string::npos &&
        std::string(choice.model).find("MICROBATCH") == std::string::npos)
      result.push_back(choice);
  return result;
}

class OneSequence : public testing::TestWithParam<EquivalenceCase> {};

} // namespace

/// `xf` is written for one sequence at a time: the same step, to the rounding
/// of f64, as with the microbatch of the plan.
TEST_P(OneSequence, IsTheStepOfAnyMicrobatch) {
  std::string spec = specOf(GetParam());
  CompileChoice how{GetParam().overrides};
  program::Program program = compileProgram(spec, how);
  Feed feed(program);
  CompiledModel compiled(std::move(program));
  ASSERT_TRUE(compiled.valid);
  ModelState first = compiled.state();
  std::string text = compileXf(spec, how);
  ReferenceModel sized(text, 77, xf::Rounding::None, first);
  ReferenceModel written(text, 77, xf::Rounding::None, first,
                         Microbatch::OneSequence);
  ASSERT_TRUE(sized.valid && written.valid);
  for (uint64_t step = 0; step < 2; ++step) {
    std::vector<data::Batch> batches = feed.step(step);
    std::vector<data::Batch> sequences = sequencesOf(batches);
    auto mean = [](const std::vector<double> &losses) {
      return std::accumulate(losses.begin(), losses.end(), 0.0) /
             double(losses.size());
    };
    StepNumbers one = written.run(step, 0.01, sequences);
    StepNumbers all = sized.run(step, 0.01, batches);
    EXPECT_EQ(one.losses.size(), sequences.size());
    EXPECT_NEAR(mean(one.losses), mean(all.losses), 1e-12 * mean(all.losses));
  }
  Distances apart;
  addTensors(apart, written.state(), sized.state(), first);
  EXPECT_LE(apart.tensors.value, 1e-9) << apart.tensors.where;
}

INSTANTIATE_TEST_SUITE_P(Families, OneSequence, testing::ValuesIn(plainCases()),
                         nameOf);
