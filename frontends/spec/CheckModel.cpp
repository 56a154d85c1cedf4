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

void hocket::spec::checkModel(const Model &model, ConstraintErrors &errors) {
  checkHeads(model, errors);
  checkRope(model, errors);
  if (model.norm() == Model::RMS_NORM && model.norm_bias())
    errors.add(11, "model.norm_bias",
               "an RMS norm has no bias; write norm_bias: false, or norm: "
               "LAYER_NORM");
  if (model.has_head_dim())
    checkTotal(model, errors);
}
