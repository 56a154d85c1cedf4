//===- CheckRetrieval.cpp - Attention to what was retrieved ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/model/Retrieval.h"

#include <limits>
#include <string>

using namespace hocket::spec;

/// S122: what a model that retrieves does without.
static void checkUnfit(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  const Training &training = spec.training();
  errors.addUnfit(
      122,
      {{model.has_encoder(), "model.encoder",
        "a decoder attends to neighbours or to an encoder's sequence; "
        "leave encoder out"},
       {model.has_vision(), "model.vision",
        "texts with images have no neighbours; leave vision out"},
       {model.attention_mask() != Model::CAUSAL, "model.attention_mask",
        "neighbours of a chunk are for the tokens behind it; leave "
        "attention_mask out"},
       {!model.layer_kinds().empty(), "model.layer_kinds[0]",
        "retrieval.layers says how layers differ; leave layer_kinds out"},
       {model.has_moe(), "model.moe",
        "layers that retrieve have no experts; leave moe out"},
       {model.branches() != Model::SEQUENTIAL, "model.branches",
        "layers that retrieve have three branches, one after another; leave "
        "branches out"},
       {model.norm_position() != Model::PRE, "model.norm_position",
        "an encoder inside a layer reads what its norm makes; leave "
        "norm_position out"},
       {model.position() == Model::ALIBI || model.position() == Model::RELATIVE,
        "model.position",
        "neighbours are at no distance from a text; write position: LEARNED, "
        "ROTARY or NONE"},
       {model.qk_norm(), "model.qk_norm",
        "attention to neighbours has no norms of queries and keys; leave "
        "qk_norm out"},
       {training.data().reset_attention_mask(),
        "training.data.reset_attention_mask",
        "chunks go across the ends of documents; leave reset_attention_mask "
        "out"},
       {training.data().reset_position_ids(),
        "training.data.reset_position_ids",
        "chunks go across the ends of documents; leave reset_position_ids "
        "out"},
       {training.fp8_format() != Training::NONE, "training.fp8_format",
        "a model that retrieves is not trained in 8 bits; leave fp8_format "
        "out"},
       {training.has_lora(), "training.lora",
        "adapters would be of the encoder too; leave lora out, or retrieval"}});
}

/// S123 and S126: how long everything is.
static void checkLengths(const Spec &spec, ConstraintErrors &errors) {
  const Retrieval &retrieval = spec.model().retrieval();
  int64_t sequence = spec.training().sequence_length();
  auto number = [](int64_t value) { return std::to_string(value); };
  if (!spec.training().has_sequence_length()) // S13
    return;
  if (sequence % retrieval.chunk_length() != 0)
    errors.add(123, "model.retrieval.chunk_length",
               "training.sequence_length is " + number(sequence) +
                   ", which is not of whole chunks of " +
                   number(retrieval.chunk_length()) +
                   "; write a divisor of it");
  if (spec.model().position() == Model::LEARNED &&
      retrieval.retrieved_length() > spec.model().max_positions())
    errors.add(123, "model.retrieval.retrieved_length",
               "a neighbour has " + number(retrieval.retrieved_length()) +
                   " tokens, and the model positions for " +
                   number(spec.model().max_positions()) +
                   "; write a larger model.max_positions, or a shorter "
                   "retrieved_length");
  // At most 2^31 * 2^10 * 2^20: ranges keep it in 64 bits.
  if (neighborTokens(spec) > std::numeric_limits<int32_t>::max())
    errors.add(126, "model.retrieval.neighbors",
               "the neighbours of a sequence have " +
                   number(neighborTokens(spec)) +
                   " tokens, more than 2147483647; write fewer neighbors, a "
                   "shorter retrieved_length or a longer chunk_length");
}

/// S124: the layers that attend to neighbours.
static void checkLayers(const Model &model, ConstraintErrors &errors) {
  const auto &layers = model.retrieval().layers();
  if (layers.empty())
    errors.add(124, "model.retrieval",
               "of " + std::to_string(model.layers()) +
                   " layers none is the sixth, from which on Megatron-LM's "
                   "attend to neighbours; name them, as in layers: [0]");
  for (int i = 0; i < layers.size(); ++i) {
    const std::string field =
        "model.retrieval.layers[" + std::to_string(i) + "]";
    if (layers[i] < 0 || layers[i] >= model.layers())
      errors.add(124, field,
                 "the model has no layer " + std::to_string(layers[i]) +
                     "; write one from 0 to " +
                     std::to_string(model.layers() - 1));
    else if (i > 0 && layers[i] <= layers[i - 1])
      errors.add(124, field,
                 "layer " + std::to_string(layers[i]) +
                     " stands behind layer " + std::to_string(layers[i - 1]) +
                     "; write each once, in ascending order");
  }
}

/// S125: ranks share the tokens of neighbours as they share a sequence's.
static void checkShares(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  int64_t ranks = plan.context_parallel() *
                  (plan.sequence_parallel() ? plan.tensor_parallel() : 1);
  int64_t tokens = neighborTokens(spec);
  if (ranks > 1 && tokens % ranks != 0)
    errors.add(125, "model.retrieval.retrieved_length",
               "the neighbours of a sequence have " + std::to_string(tokens) +
                   " tokens, which " + std::to_string(ranks) +
                   " ranks along context_parallel and, with "
                   "sequence_parallel, tensor_parallel cannot share; write a "
                   "multiple of " +
                   std::to_string(ranks));
}

void hocket::spec::checkRetrieval(const Spec &spec, ConstraintErrors &errors) {
  if (!spec.model().has_retrieval())
    return;
  checkUnfit(spec, errors);
  checkLengths(spec, errors);
  checkLayers(spec.model(), errors);
  if (errors.empty())
    checkShares(spec, errors);
}
