//===- Sizes.cpp - What a model's sizes add up to -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/Sizes.h"

#include "frontends/spec/model/Retrieval.h"

#include "frontends/spec/model/LayerPattern.h"
#include "frontends/spec/model/PlanMessage.h"
#include "frontends/spec/model/Vision.h"

#include <algorithm>
#include <cmath>

using namespace hocket::spec;

CheckedSize CheckedSize::operator+(const CheckedSize &other) const {
  CheckedSize sum;
  int64_t result;
  if (value && other.value &&
      !__builtin_add_overflow(*value, *other.value, &result))
    sum.value = result;
  return sum;
}

CheckedSize CheckedSize::operator*(const CheckedSize &other) const {
  CheckedSize product;
  int64_t result;
  if (value && other.value &&
      !__builtin_mul_overflow(*value, *other.value, &result))
    product.value = result;
  return product;
}

bool hocket::spec::isGated(Model::Activation activation) {
  return activation == Model::SWIGLU || activation == Model::GEGLU ||
         activation == Model::GEGLU_TANH;
}

int64_t hocket::spec::fp8Block(const Training &training) {
  if (training.fp8_format() == Training::NONE)
    return 0;
  switch (training.fp8_recipe()) {
  case Training::TENSORWISE:
    return 0;
  case Training::BLOCKWISE:
    return 128;
  case Training::MXFP8:
    return 32;
  }
  return 0;
}

int64_t hocket::spec::expertCapacity(const Spec &spec) {
  const Moe &moe = spec.model().moe();
  int64_t sequence = spec.training().sequence_length();
  if (!moe.has_capacity_factor())
    return 0;
  double wish = moe.capacity_factor() * static_cast<double>(sequence) *
                static_cast<double>(moe.top_k()) /
                static_cast<double>(moe.experts());
  // A product like 1.1 * 10 must not be rounded up for its last bit.
  wish = std::ceil(wish * (1 - 1e-12));
  return static_cast<int64_t>(
      std::clamp(wish, 1.0, static_cast<double>(sequence)));
}

int64_t hocket::spec::tokensOfRank(const Spec &spec) {
  return spec.training().micro_batch_size() *
         spec.training().sequence_length() / plan::positionRuns(planOf(spec));
}

int64_t hocket::spec::expertRowsBound(const Spec &spec, int64_t tokens) {
  const Moe &moe = spec.model().moe();
  return plan::expertRowsBound(
      {moe.experts(), moe.top_k(), moe.expert_capacity_bound()},
      spec.plan().expert_parallel(), tokens);
}

bool hocket::spec::runsAgain(const Spec &spec) {
  const Moe &moe = spec.model().moe();
  return moe.beyond_bound() == Moe::RERUN && moe.has_experts() &&
         !moe.has_capacity_factor() && spec.plan().expert_parallel() > 1;
}

CheckedSize hocket::spec::paddedVocabSize(const Model &model) {
  CheckedSize blocks = (model.vocab_size() - 1) / model.vocab_padding() + 1;
  return blocks * model.vocab_padding();
}

/// A linear layer's weight and, with one, its bias.
static CheckedSize linear(CheckedSize in, CheckedSize out, bool bias) {
  return in * out + (bias ? out : CheckedSize(0));
}

static CheckedSize normSize(const Model &model) {
  return CheckedSize(model.hidden()) * (model.norm_bias() ? 2 : 1);
}

bool hocket::spec::hasNormBefore(const Model &model) {
  return model.norm_position() != Model::BRANCH;
}

bool hocket::spec::hasPostNorm(const Model &model) {
  return model.norm_position() == Model::BOTH ||
         model.norm_position() == Model::BRANCH;
}

bool hocket::spec::hasOneNorm(const Model &model) {
  return model.branches() == Model::PARALLEL_ONE_NORM;
}

/// Norms of a residual branch.
static CheckedSize branchNorms(const Model &model) {
  return normSize(model) * (hasNormBefore(model) + hasPostNorm(model));
}

/// A state-space layer, with its norms.
static CheckedSize stateSpaceSize(const Model &model) {
  const StateSpace &space = model.state_space();
  CheckedSize hidden = model.hidden(), heads = space.heads();
  CheckedSize inner = heads * space.head_dim();
  CheckedSize maps = CheckedSize(space.groups()) * space.state_size();
  CheckedSize convolved = inner + maps * 2;
  return branchNorms(model) +
         linear(hidden, inner + convolved + heads, space.bias()) +
         linear(convolved, space.conv_width(), false) +
         convolved * (space.conv_bias() ? 1 : 0) + heads * 3 + inner +
         linear(inner, hidden, space.bias());
}

/// Latent attention, without the norms of its branch.
static CheckedSize latentAttentionSize(const Model &model) {
  const LatentAttention &latent = model.latent_attention();
  CheckedSize hidden = model.hidden(), heads = model.heads();
  CheckedSize q = heads * model.head_dim(), kv = latent.kv_lora_rank();
  CheckedSize values = heads * latent.v_head_dim();
  CheckedSize size =
      linear(hidden, kv + latent.qk_rope_head_dim(), false) +
      linear(kv, heads * latent.qk_nope_head_dim() + values, false) +
      linear(values, hidden, model.attention_out_bias());
  CheckedSize norms = model.qk_norm() ? kv : CheckedSize(0);
  if (!latent.has_q_lora_rank())
    return size + norms + linear(hidden, q, false);
  CheckedSize rank = latent.q_lora_rank();
  return size + norms + (model.qk_norm() ? rank : CheckedSize(0)) +
         linear(hidden, rank, false) + linear(rank, q, false);
}

/// The mixer of a layer, with its norms.
static CheckedSize mixerSize(const ResolvedKind &kind) {
  if (kind.stateSpace)
    return stateSpaceSize(kind.model);
  if (!kind.attention)
    return 0;
  const Model &model = kind.model;
  if (model.has_latent_attention())
    return branchNorms(model) + latentAttentionSize(model);
  CheckedSize hidden = model.hidden();
  CheckedSize q = CheckedSize(model.heads()) * model.head_dim();
  CheckedSize kv = CheckedSize(model.kv_heads()) * model.head_dim();
  CheckedSize size = branchNorms(model) +
                     linear(hidden, q, model.attention_qkv_bias()) +
                     linear(hidden, kv, model.attention_qkv_bias()) * 2 +
                     linear(q, hidden, model.attention_out_bias());
  if (!model.qk_norm())
    return size;
  bool together = model.qk_norm_scope() == Model::ALL_HEADS;
  return size + (together ? q + kv : CheckedSize(model.head_dim()) * 2);
}

/// The feed-forward branch of a layer, with its norms.
static CheckedSize feedForwardSize(const ResolvedKind &kind) {
  const Model &model = kind.model;
  CheckedSize hidden = model.hidden(), ffn = model.ffn();
  int64_t inward = isGated(model.activation()) ? 2 : 1;
  CheckedSize norms = hasOneNorm(model) ? CheckedSize(0) : branchNorms(model);
  switch (kind.feedForward) {
  case LayerKind::DENSE:
    return norms + linear(hidden, ffn, model.mlp_bias()) * inward +
           linear(ffn, hidden, model.mlp_bias());
  case LayerKind::EXPERTS:
    return norms +
           hidden * model.moe().ffn() * (inward + 1) *
               (CheckedSize(model.moe().experts()) +
                model.moe().shared_experts()) +
           hidden * (CheckedSize(model.moe().experts()) +
                     (model.moe().shared_expert_gate() ? 1 : 0));
  case LayerKind::NO_FEED_FORWARD:
    return 0;
  }
}

bool hocket::spec::hasFinalNorm(const Model &model) {
  return !model.has_final_norm() || model.final_norm();
}

std::optional<SequenceHead> hocket::spec::sequenceHeadOf(const Model &model) {
  if (model.has_choices())
    return SequenceHead{"class_head", 1, "model.choices"};
  if (model.has_classes())
    return SequenceHead{"class_head", model.classes(), "model.classes"};
  if (model.sentence_head())
    return SequenceHead{"sentence_head", 2, "model.sentence_head"};
  return std::nullopt;
}

/// What an encoder has before the first layer and behind the last one besides
/// the embedding of tokens and the head.
static CheckedSize encoderEnds(const Model &model) {
  CheckedSize hidden = model.hidden();
  CheckedSize total =
      hidden * model.token_types() +
      normSize(model) * (model.embedding_norm() + hasFinalNorm(model) +
                         model.head_transform());
  if (model.head_transform())
    total = total + linear(hidden, hidden, model.bias());
  if (model.head_bias())
    total = total + paddedVocabSize(model);
  if (auto head = sequenceHeadOf(model))
    total = total + linear(hidden, hidden, model.bias()) +
            linear(hidden, head->outputs, model.bias());
  return total;
}

bool hocket::spec::hasSpanLengths(const Training &training) {
  const SpanCorruption &spans = training.span_corruption();
  int64_t length = training.encoder_sequence_length();
  return length >= 4 && length <= mostEncoderTokens &&
         spans.noise_density() > 0 && spans.noise_density() < 1 &&
         spans.mean_span_length() >= 1 && spans.mean_span_length() <= 1e6;
}

hocket::SpanLengths hocket::spec::spanLengthsOf(const Training &training) {
  const SpanCorruption &spans = training.span_corruption();
  return SpanLengths::fitting(
      static_cast<uint64_t>(training.encoder_sequence_length()),
      spans.noise_density(), spans.mean_span_length());
}

Model hocket::spec::encoderOf(const Model &model) {
  Model encoder = model;
  encoder.clear_encoder();
  encoder.clear_layer_kinds();
  encoder.clear_pattern();
  encoder.set_layers(model.encoder().layers());
  encoder.set_attention_mask(Model::BIDIRECTIONAL);
  return encoder;
}

/// The encoder's layers with what is behind them, and the decoder's attention
/// to it.
static CheckedSize encoderSize(const Model &model) {
  Model encoder = encoderOf(model);
  CheckedSize total = normSize(model);
  for (const ResolvedKind &kind : LayerPattern(encoder).kinds())
    total = total + (mixerSize(kind) + feedForwardSize(kind)) * kind.layers;
  for (const ResolvedKind &kind : LayerPattern(model).kinds())
    total = total + mixerSize(kind) * kind.layers;
  if (model.position() == Model::RELATIVE)
    total = total +
            CheckedSize(model.relative_position().buckets()) * model.heads();
  return total;
}

/// The attention of layers to neighbours, and the encoder of these.
static CheckedSize retrievalSize(const Model &model) {
  CheckedSize total = 0;
  for (const ResolvedKind &kind : LayerPattern(model).kinds())
    if (kind.retrieves)
      total = total + mixerSize(kind) * kind.layers;
  for (int64_t i = 0; i < model.retrieval().encoder_layers(); ++i) {
    ResolvedKind kind = retrieverKind(model, i);
    total = total + mixerSize(kind) * (kind.retrieves ? 2 : 1) +
            feedForwardSize(kind);
  }
  return total;
}

/// A vision tower and the projector.
static CheckedSize visionSize(const Model &model) {
  const Vision &vision = model.vision();
  Model tower = towerOf(model);
  CheckedSize width = vision.hidden(), hidden = model.hidden();
  CheckedSize total = width * patchElements(vision) + width +
                      width * towerRows(vision) + normSize(tower) * 2 +
                      linear(width, hidden, vision.projector_bias()) +
                      linear(hidden, hidden, vision.projector_bias());
  for (const ResolvedKind &kind : LayerPattern(tower).kinds())
    total = total + (mixerSize(kind) + feedForwardSize(kind)) * kind.layers;
  return total;
}

CheckedSize hocket::spec::parameterCount(const Model &model) {
  CheckedSize hidden = model.hidden();
  CheckedSize total = encoderEnds(model);
  if (model.has_vision())
    total = total + visionSize(model);
  if (model.has_encoder())
    total = total + encoderSize(model);
  if (model.has_retrieval())
    total = total + retrievalSize(model);
  for (const ResolvedKind &kind : LayerPattern(model).kinds())
    total = total + (mixerSize(kind) + feedForwardSize(kind)) * kind.layers;
  CheckedSize table = paddedVocabSize(model) * hidden;
  bool hasHead = !model.tied_embeddings() && !tellsClasses(model);
  total = total + table * (hasHead ? 2 : 1);
  if (model.position() == Model::LEARNED)
    total = total + hidden * model.max_positions();
  if (model.position() == Model::RELATIVE)
    total = total +
            CheckedSize(model.relative_position().buckets()) * model.heads();
  return total;
}
