//===- CheckModel.cpp - Fields of the model against each other ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/Sizes.h"

using namespace hocket::spec;

/// The divisor of `whole` nearest to `wish`; both are at least 1.
static int64_t nearestDivisor(int64_t whole, int64_t wish) {
  for (int64_t step = 0;; ++step) {
    if (wish - step >= 1 && whole % (wish - step) == 0)
      return wish - step;
    if (whole % (wish + step) == 0)
      return wish + step;
  }
}

/// S5, S6.
static void checkHeads(const Model &model, ConstraintErrors &errors) {
  std::string heads = std::to_string(model.heads());
  if (!model.has_head_dim())
    errors.add(
        5, "model.heads",
        "model.heads is " + heads + ", which does not divide " +
            "model.hidden (" + std::to_string(model.hidden()) + "); write " +
            std::to_string(nearestDivisor(model.hidden(), model.heads())) +
            ", or model.head_dim as well");
  if (model.heads() % model.kv_heads() != 0)
    errors.add(
        6, "model.kv_heads",
        "model.kv_heads is " + std::to_string(model.kv_heads()) +
            ", which does not divide model.heads (" + heads + "); write " +
            std::to_string(nearestDivisor(model.heads(), model.kv_heads())));
}

/// S7, S8, S9.
static void checkRope(const Model &model, ConstraintErrors &errors) {
  if (model.position() != Model::ROTARY) {
    if (model.has_rope())
      errors.add(8, "model.rope",
                 "model.rope has no use with position: " +
                     Model::Position_Name(model.position()) +
                     "; write position: ROTARY, or leave rope out");
    return;
  }
  if (model.head_dim() % 2 != 0)
    errors.add(7, model.has_head_dim() ? "model.head_dim" : "model.heads",
               "the rotary embedding turns pairs, and model.head_dim is " +
                   std::to_string(model.head_dim()) +
                   "; write an even number, or another position");
  if (!model.rope().has_scaling())
    return;
  const Rope::Scaling &scaling = model.rope().scaling();
  if (scaling.kind_case() == Rope::Scaling::KIND_NOT_SET)
    errors.add(9, "model.rope.scaling",
               "model.rope.scaling names no kind; write linear { } or "
               "llama3 { } in it");
  if (scaling.has_llama3() &&
      scaling.llama3().high_freq_factor() <= scaling.llama3().low_freq_factor())
    errors.add(9, "model.rope.scaling.llama3.high_freq_factor",
               "high_freq_factor is " +
                   formatReal(scaling.llama3().high_freq_factor()) +
                   "; write more than low_freq_factor (" +
                   formatReal(scaling.llama3().low_freq_factor()) + ")");
}

/// S12.
static void checkTotal(const Model &model, ConstraintErrors &errors) {
  // FP32 weight, gradient and two optimizer slots, with a bit to spare for
  // sums over them.
  if (!(parameterCount(model) * 32).get())
    errors.add(12, "model",
               "the model's parameters do not fit 64-bit sizes; write "
               "smaller layers, hidden, ffn or vocab_size");
  std::optional<int64_t> rows = paddedVocabSize(model).get();
  if (!rows || *rows > INT32_MAX)
    errors.add(12, "model.vocab_padding",
               "vocab_size rounded up to a multiple of vocab_padding is more "
               "than 2147483647; write a smaller vocab_padding");
}

/// S31.
static void checkExpertGroups(const Moe &moe, ConstraintErrors &errors) {
  std::string experts = std::to_string(moe.experts());
  if (moe.experts() % moe.groups() != 0) {
    errors.add(31, "model.moe.groups",
               "model.moe.groups is " + std::to_string(moe.groups()) +
                   ", which does not divide model.moe.experts (" + experts +
                   "); write " +
                   std::to_string(nearestDivisor(moe.experts(), moe.groups())));
    return;
  }
  if (moe.topk_groups() > moe.groups())
    errors.add(31, "model.moe.topk_groups",
               "model.moe.topk_groups is " + std::to_string(moe.topk_groups()) +
                   " of " + std::to_string(moe.groups()) +
                   " groups; write at most " + std::to_string(moe.groups()));
  else if (moe.top_k() > moe.experts() / moe.groups() * moe.topk_groups())
    errors.add(31, "model.moe.topk_groups",
               std::to_string(moe.topk_groups()) + " groups of " +
                   std::to_string(moe.experts() / moe.groups()) +
                   " experts have fewer than top_k (" +
                   std::to_string(moe.top_k()) + "); write more topk_groups");
}

/// S30 to S33, S47.
static void checkExperts(const Model &model, ConstraintErrors &errors) {
  const Moe &moe = model.moe();
  if (!moe.has_experts()) {
    errors.add(30, "model.moe", "model.moe.experts is required; write it");
    return;
  }
  if (moe.top_k() > moe.experts())
    errors.add(30, "model.moe.top_k",
               "model.moe.top_k is " + std::to_string(moe.top_k()) +
                   "; write at most model.moe.experts (" +
                   std::to_string(moe.experts()) + ")");
  else
    checkExpertGroups(moe, errors);
  if (moe.has_expert_capacity_bound() && moe.has_capacity_factor())
    errors.add(47, "model.moe.expert_capacity_bound",
               "model.moe.expert_capacity_bound bounds the rows of ranks that "
               "drop none, and capacity_factor has tokens dropped; write one "
               "of them");
  if (model.mlp_bias())
    errors.add(32, "model.mlp_bias",
               "experts have no biases; write mlp_bias: false");
  if (moe.interval() > model.layers() - moe.first_dense_layers())
    errors.add(33, "model.moe",
               "no layer has experts: of " + std::to_string(model.layers()) +
                   " layers " + std::to_string(moe.first_dense_layers()) +
                   " are dense, and then every " +
                   std::to_string(moe.interval()) +
                   "th has experts; write a smaller first_dense_layers or "
                   "interval");
}

void hocket::spec::checkModel(const Model &model, ConstraintErrors &errors) {
  checkHeads(model, errors);
  checkRope(model, errors);
  if (model.norm() == Model::RMS_NORM && model.norm_bias())
    errors.add(11, "model.norm_bias",
               "an RMS norm has no bias; write norm_bias: false, or norm: "
               "LAYER_NORM");
  if (model.has_moe())
    checkExperts(model, errors);
  if (model.has_head_dim())
    checkTotal(model, errors);
}
