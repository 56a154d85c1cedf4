//===- CheckRanges.cpp - Each field by itself -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"

#include "dialects/plan/ParallelPlan.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/text/FieldPath.h"

#include <algorithm>
#include <cmath>

using namespace google::protobuf;
using namespace hocket::spec;

namespace {
/// S4: a whole number from `least` to `most`.
struct IntegerRange {
  const char *path; ///< Of a table, or within a message that there are more of.
  int64_t least;
  int64_t most;
};

/// S10: a finite number from `least` to `most`; an open end is left out.
struct RealRange {
  const char *path;
  double least;
  double most;
  enum Ends { CLOSED, ABOVE_LEAST, BELOW_MOST } ends = CLOSED;
};
} // namespace

/// Beyond any model or run, and low enough that sums of a few stay in range.
static constexpr int64_t manyTokens = int64_t(1) << 31;

static constexpr IntegerRange integerRanges[] = {
    {"model.layers", 1, 1 << 16},
    {"model.hidden", 1, 1 << 24},
    {"model.heads", 1, 1 << 20},
    {"model.kv_heads", 1, 1 << 20},
    {"model.head_dim", 1, 512},
    {"model.ffn", 1, 1 << 26},
    {"model.vocab_size", 1, manyTokens - 1},
    {"model.max_positions", 1, manyTokens - 1},
    {"model.sliding_window", 1, manyTokens - 1},
    {"model.vocab_padding", 1, 1 << 20},
    {"model.token_types", 0, 1 << 16},
    {"model.relative_position.buckets", 2, 2048},
    // As far as kernels go (kernels/reference/RelativeBuckets.h).
    {"model.relative_position.max_distance", 2, 1024},
    {"model.moe.experts", 1, 1 << 16},
    {"model.moe.top_k", 1, 1 << 16},
    {"model.moe.ffn", 1, 1 << 26},
    {"model.moe.shared_experts", 0, 1 << 10},
    {"model.moe.groups", 1, 1 << 16},
    {"model.moe.topk_groups", 1, 1 << 16},
    {"model.moe.first_dense_layers", 0, 1 << 16},
    {"model.moe.interval", 1, 1 << 16},
    // As far as kernels go (kernels/reference/StateSpace.h).
    {"model.state_space.heads", 1, 1 << 16},
    {"model.state_space.head_dim", 1, 256},
    {"model.state_space.state_size", 1, 256},
    {"model.state_space.groups", 1, 1 << 16},
    {"model.state_space.conv_width", 1, 8},
    {"model.state_space.norm_groups", 1, 1 << 16},
    {"training.micro_batch_size", 1, 1 << 20},
    {"training.global_batch_size", 1, largestBatch},
    {"training.sequence_length", 1, manyTokens - 1},
    {"training.steps", 0, manySteps},
    {"training.train_samples", 1, manySteps},
    {"training.epochs", 1, 1 << 20},
    {"training.rampup_batch_size.start", 1, largestBatch},
    {"training.rampup_batch_size.increment", 1, largestBatch},
    {"training.rampup_batch_size.samples", 1, manySteps},
    {"training.learning_rate.warmup_steps", 0, manySteps},
    {"training.learning_rate.decay_steps", 0, manySteps},
    {"training.learning_rate.wsd_decay_steps", 0, manySteps},
    {"training.learning_rate.warmup_samples", 0, manySteps},
    {"training.learning_rate.decay_samples", 1, manySteps},
    {"training.learning_rate.wsd_decay_samples", 0, manySteps},
    {"training.data.eod_token", 0, manyTokens - 2},
    {"model.encoder.layers", 1, 1 << 16},
    {"training.encoder_sequence_length", 4, mostEncoderTokens},
    {"model.vision.layers", 1, 1 << 16},
    {"model.vision.hidden", 1, 1 << 24},
    {"model.vision.heads", 1, 1 << 20},
    {"model.vision.ffn", 1, 1 << 26},
    {"model.vision.image_size", 1, 1 << 14},
    {"model.vision.patch_size", 1, 1 << 14},
    {"model.vision.feature_layer", -(1 << 16), 1 << 16},
    {"model.image_token", 0, manyTokens - 2},
    {"training.images_per_sequence", 1, 1 << 10},
    {"model.retrieval.chunk_length", 1, 1 << 20},
    {"model.retrieval.neighbors", 1, 1 << 10},
    {"model.retrieval.retrieved_length", 1, 1 << 20},
    {"model.retrieval.encoder_layers", 1, 1 << 10},
    {"model.latent_attention.q_lora_rank", 1, 1 << 20},
    {"model.latent_attention.kv_lora_rank", 1, 1 << 20},
    {"model.latent_attention.qk_nope_head_dim", 1, 510},
    {"model.latent_attention.qk_rope_head_dim", 1, 511},
    {"model.latent_attention.v_head_dim", 1, 512},
    {"training.data.retrieved.pad_token", 0, manyTokens - 2},
    {"training.span_corruption.end_token", 0, manyTokens - 2},
    {"training.span_corruption.pad_token", 0, manyTokens - 2},
    {"training.span_corruption.first_sentinel", 0, manyTokens - 2},
    {"training.span_corruption.sentinels", 1, 1 << 20},
    {"training.masked_lm.cls_token", 0, manyTokens - 2},
    {"training.masked_lm.sep_token", 0, manyTokens - 2},
    {"training.masked_lm.mask_token", 0, manyTokens - 2},
    {"training.masked_lm.pad_token", 0, manyTokens - 2},
    {"training.classification.cls_token", 0, manyTokens - 2},
    {"training.classification.sep_token", 0, manyTokens - 2},
    {"training.classification.pad_token", 0, manyTokens - 2},
    {"model.classes", 2, 1 << 16},
    {"model.choices", 2, 26},
    {"training.loss_scale.growth_interval", 1, manySteps},
    {"training.lora.rank", 1, 1 << 16},
    {"training.validation.interval", 0, manySteps},
    {"training.validation.batches", 1, manySteps},
    {"training.log_interval", 1, manySteps},
    {"training.save_interval", 0, manySteps},
    {"plan.pipeline_parallel", 1, 1 << 16},
    {"plan.data_parallel", 1, 1 << 16},
    {"plan.context_parallel", 1, 1 << 16},
    {"plan.tensor_parallel", 1, 1 << 16},
    {"plan.expert_parallel", 1, 1 << 16},
    {"plan.expert_tensor_parallel", 1, 1 << 16},
    {"plan.zero_stage", 0, 3},
    {"plan.virtual_stages", 1, 1 << 16},
    {"plan.schedule_group", 1, 1 << 24},
    {"plan.recompute_layers", 1, 1 << 16},
    {"plan.loss_chunks", 1, 1 << 20},
    {"plan.bucket_bytes", 0, int64_t(1) << 60},
    {"cluster.devices", 1, 1 << 24},
    {"cluster.memory_bytes", 1, int64_t(1) << 60},
};

/// Well inside FP32.
static constexpr double largest = 1e30;

static constexpr RealRange realRanges[] = {
    {"model.norm_eps", 0, 1, RealRange::ABOVE_LEAST},
    {"model.vision.norm_eps", 0, 1, RealRange::ABOVE_LEAST},
    {"model.attention_scale", 0, 1e6, RealRange::ABOVE_LEAST},
    {"model.embedding_scale", 0, 1e6, RealRange::ABOVE_LEAST},
    {"model.residual_scale", 0, 1e6, RealRange::ABOVE_LEAST},
    {"model.logit_scale", 0, 1e6, RealRange::ABOVE_LEAST},
    {"model.attention_softcap", 1e-6, 1e6},
    {"model.logit_softcap", 1e-6, 1e6},
    {"model.dropout.attention", 0, 1, RealRange::BELOW_MOST},
    {"model.dropout.residual", 0, 1, RealRange::BELOW_MOST},
    {"model.dropout.embedding", 0, 1, RealRange::BELOW_MOST},
    {"model.dropout.mlp", 0, 1, RealRange::BELOW_MOST},
    {"model.dropout.final_norm", 0, 1, RealRange::BELOW_MOST},
    {"model.retrieval.encoder_dropout", 0, 1, RealRange::BELOW_MOST},
    {"model.retrieval.encoder_attention_dropout", 0, 1, RealRange::BELOW_MOST},
    {"model.initializer.stddev", 0, 1e3},
    {"model.moe.scale", 0, 1e6, RealRange::ABOVE_LEAST},
    {"model.moe.capacity_factor", 0, 1e6, RealRange::ABOVE_LEAST},
    {"model.moe.expert_capacity_bound", 1, hocket::plan::mostRowsBound},
    {"model.moe.aux_loss", 0, 1e3},
    {"model.moe.z_loss", 0, 1e3},
    {"model.moe.bias_rate", 0, 1},
    {"model.moe.input_jitter", 0, 1, RealRange::BELOW_MOST},
    {"model.state_space.step_least", 0, 1e6},
    {"model.state_space.step_most", 0, 1e6, RealRange::ABOVE_LEAST},
    {"training.optimizer.adamw.beta1", 0, 1, RealRange::BELOW_MOST},
    {"training.optimizer.adamw.beta2", 0, 1, RealRange::BELOW_MOST},
    {"training.optimizer.adamw.eps", 0, 1, RealRange::ABOVE_LEAST},
    {"training.optimizer.adamw.weight_decay", 0, 1e3},
    {"training.optimizer.sgd.momentum", 0, 1, RealRange::BELOW_MOST},
    {"training.optimizer.sgd.weight_decay", 0, 1e3},
    {"training.learning_rate.peak", 0, 1e6},
    {"training.learning_rate.minimum", 0, 1e6},
    {"training.learning_rate.warmup_fraction", 0, 1},
    {"training.clip_norm", 0, largest},
    {"training.span_corruption.noise_density", 0, 1, RealRange::ABOVE_LEAST},
    {"training.span_corruption.mean_span_length", 1, 1e6},
    {"training.prefix_lm.least_share", 0, 1},
    {"training.prefix_lm.most_share", 0, 1},
    {"training.masked_lm.probability", 0, 1, RealRange::ABOVE_LEAST},
    {"training.masked_lm.mask_share", 0, 1},
    {"training.masked_lm.random_share", 0, 1},
    {"training.masked_lm.short_sequence_probability", 0, 1},
    {"training.lora.alpha", 0, 1e6, RealRange::ABOVE_LEAST},
    {"training.lora.dropout", 0, 1, RealRange::BELOW_MOST},
    {"training.loss_scale.initial", 0, largest, RealRange::ABOVE_LEAST},
    {"training.loss_scale.growth_factor", 1, 1e6, RealRange::ABOVE_LEAST},
    {"training.loss_scale.backoff_factor", 0, 1, RealRange::ABOVE_LEAST},
    {"training.loss_scale.minimum", 0, largest, RealRange::ABOVE_LEAST},
};

/// Of model.rope, and of each kind of layer that has one.
static constexpr IntegerRange ropeIntegers[] = {
    {"scaling.llama3.original_max_positions", 1, manyTokens - 1},
    {"scaling.yarn.original_max_positions", 1, manyTokens - 1},
    {"scaling.dynamic.original_max_positions", 1, manyTokens - 1},
};
static constexpr RealRange ropeReals[] = {
    {"theta", 1, 1e12},
    {"scaling.linear.factor", 1, 1e6},
    {"scaling.llama3.factor", 1, 1e6},
    {"scaling.llama3.low_freq_factor", 0, 1e6, RealRange::ABOVE_LEAST},
    {"scaling.llama3.high_freq_factor", 0, 1e6, RealRange::ABOVE_LEAST},
    {"scaling.yarn.factor", 1, 1e6},
    {"scaling.yarn.beta_fast", 0, 1e6, RealRange::ABOVE_LEAST},
    {"scaling.yarn.beta_slow", 0, 1e6, RealRange::ABOVE_LEAST},
    {"scaling.yarn.attention_factor", 0, 1e6, RealRange::ABOVE_LEAST},
    {"scaling.dynamic.factor", 1, 1e6},
    {"rotary_percent", 0, 1, RealRange::ABOVE_LEAST},
};

/// Of a kind of layer.
static constexpr IntegerRange kindIntegers[] = {
    {"ffn", 1, 1 << 26},
    {"sliding_window", 0, manyTokens - 1},
};

static constexpr const char *required[] = {"model.layers", "model.hidden",
                                           "model.heads", "model.vocab_size"};

/// `within` is the message around the field: "" or "model.rope.".
static void checkInteger(const Spec &spec, const std::string &within,
                         const IntegerRange &range, ConstraintErrors &errors) {
  const std::string path = within + range.path;
  ConstFieldReference at = findWritten(spec, path);
  if (!at.message)
    return;
  int64_t value = at.message->GetReflection()->GetInt64(*at.message, at.field);
  if (value < range.least || value > range.most)
    errors.add(4, path,
               path + " is " + std::to_string(value) +
                   "; write a number from " + std::to_string(range.least) +
                   " to " + std::to_string(range.most));
}

static void checkReal(const Spec &spec, const std::string &within,
                      const RealRange &range, ConstraintErrors &errors) {
  const std::string path = within + range.path;
  ConstFieldReference at = findWritten(spec, path);
  if (!at.message)
    return;
  double value = at.message->GetReflection()->GetDouble(*at.message, at.field);
  bool above = range.ends == RealRange::ABOVE_LEAST ? value > range.least
                                                    : value >= range.least;
  bool below = range.ends == RealRange::BELOW_MOST ? value < range.most
                                                   : value <= range.most;
  if (above && below) // False for NaN.
    return;
  errors.add(
      10, path,
      path + " is " + formatReal(value) + "; write a number " +
          (range.ends == RealRange::ABOVE_LEAST ? "above " : "of at least ") +
          formatReal(range.least) +
          (range.ends == RealRange::BELOW_MOST ? " and below "
                                               : " and at most ") +
          formatReal(range.most));
}

static void checkRope(const Spec &spec, const std::string &within,
                      ConstraintErrors &errors) {
  for (const IntegerRange &range : ropeIntegers)
    checkInteger(spec, within, range, errors);
  for (const RealRange &range : ropeReals)
    checkReal(spec, within, range, errors);
}

/// S2: the name goes into file names and logs.
static void checkName(const std::string &name, ConstraintErrors &errors) {
  bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
  if (!plain || name.empty() || name.size() > 128)
    errors.add(2, "name",
               "the name of a spec has 1 to 128 letters, digits, \"-\", \"_\" "
               "and \".\", and nothing else");
}

void hocket::spec::checkRanges(const Spec &spec, ConstraintErrors &errors) {
  checkName(spec.name(), errors);
  for (const char *path : required)
    if (!findWritten(spec, path).message)
      errors.add(3, path, std::string(path) + " is required; write it");
  for (const IntegerRange &range : integerRanges)
    checkInteger(spec, "", range, errors);
  for (const RealRange &range : realRanges)
    checkReal(spec, "", range, errors);
  checkRope(spec, "model.rope.", errors);
  for (int i = 0; i < spec.model().layer_kinds_size(); ++i) {
    const std::string kind = "model.layer_kinds[" + std::to_string(i) + "].";
    for (const IntegerRange &range : kindIntegers)
      checkInteger(spec, kind, range, errors);
    checkRope(spec, kind + "rope.", errors);
  }
}
