//===- CheckSpans.cpp - An encoder before the decoder ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/model/Sizes.h"

#include <array>
#include <utility>

using namespace hocket::spec;

/// S94: what a model with an encoder learns, and what it does without.
static void checkStacks(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  const Training &training = spec.training();
  if (!model.has_encoder()) {
    if (training.has_span_corruption())
      errors.add(94, "training.span_corruption",
                 "corrupted spans are told by a decoder of what an encoder "
                 "saw; write model.encoder, or leave span_corruption out");
    if (training.has_encoder_sequence_length())
      errors.add(94, "training.encoder_sequence_length",
                 "the model has no encoder; write model.encoder, or leave "
                 "encoder_sequence_length out");
    return;
  }
  if (!model.encoder().has_layers())
    errors.add(3, "model.encoder.layers",
               "model.encoder.layers is required; write it");
  if (!training.has_span_corruption())
    errors.add(94, "model.encoder",
               "a model with an encoder learns corrupted spans; write "
               "training.span_corruption { }, or leave encoder out");
  errors.addUnfit(
      94,
      {{model.position() != Model::RELATIVE && model.position() != Model::NONE,
        "model.position",
        "positions of two stacks are distances; write position: RELATIVE "
        "or NONE"},
       {model.attention_mask() == Model::BIDIRECTIONAL, "model.attention_mask",
        "attention_mask is the decoder's; leave it out"},
       {!model.layer_kinds().empty(), "model.layer_kinds[0]",
        "layers of both stacks are alike; leave layer_kinds out"},
       {model.has_moe(), "model.moe",
        "layers of two stacks have no experts; leave moe out"},
       {model.has_sliding_window(), "model.sliding_window",
        "an encoder has no window; leave sliding_window out"},
       {model.branches() != Model::SEQUENTIAL, "model.branches",
        "a decoder has three branches, one after another; leave branches out"},
       {model.qk_norm(), "model.qk_norm",
        "attention to an encoder has no norms of queries and keys; leave "
        "qk_norm out"},
       {training.data().has_eod_token(), "training.data.eod_token",
        "spans are corrupted across the ends of documents; leave eod_token "
        "out"},
       {training.fp8_format() != Training::NONE, "training.fp8_format",
        "two stacks are not trained in 8 bits; leave fp8_format out"}});
}

/// S95: what samples are made with are tokens, of which there are enough.
static void checkTokens(const Spec &spec, ConstraintErrors &errors) {
  const SpanCorruption &spans = spec.training().span_corruption();
  const std::string within = "training.span_corruption.";
  for (const auto &[name, token] :
       {std::pair<std::string, int64_t>{"end_token", spans.end_token()},
        {"pad_token", spans.pad_token()},
        {"first_sentinel", spans.first_sentinel()}})
    if (token >= spec.model().vocab_size())
      errors.add(95, within + name,
                 within + name + " is " + std::to_string(token) +
                     "; write a token of the vocabulary, below " +
                     std::to_string(spec.model().vocab_size()));
  if (!spec.training().has_encoder_sequence_length()) {
    errors.add(95, "training.encoder_sequence_length",
               "training.encoder_sequence_length is required with an encoder; "
               "write it");
    return;
  }
  if (spans.noise_density() == 1) {
    errors.add(95, within + "noise_density",
               "an encoder takes in what is left of a sample; write a "
               "noise_density below 1");
    return;
  }
  hocket::SpanLengths lengths = spanLengthsOf(spec.training());
  auto labels = static_cast<int64_t>(lengths.labels());
  auto count = static_cast<int64_t>(lengths.spans);
  if (spec.training().sequence_length() < labels)
    errors.add(95, "training.sequence_length",
               "a sample has " + std::to_string(labels) +
                   " labels, and training.sequence_length is " +
                   std::to_string(spec.training().sequence_length()) +
                   "; write at least " + std::to_string(labels) +
                   ", or leave it out");
  if (count > spans.sentinels() || count > spans.first_sentinel() + 1)
    errors.add(95, within + "sentinels",
               "a sample has " + std::to_string(count) +
                   " spans, of a sentinel each; write more sentinels, or a "
                   "larger mean_span_length");
}

void hocket::spec::checkSpans(const Spec &spec, ConstraintErrors &errors) {
  checkStacks(spec, errors);
  if (spec.model().has_encoder() && spec.training().has_span_corruption())
    checkTokens(spec, errors);
}
