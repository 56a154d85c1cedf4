//===- Retrieval.h - What layers attend to besides --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes of model.retrieval. The first layer that attends to neighbours has the
/// encoder inside (Megatron-LM has it there, too), whose parameters are, for
/// layer i of the decoder,
///
///   layers.{i}.cross_attention.encoder.layers.{j}.*    as layers.{j}.*
///
/// with a cross_attention of its own for j = 0 alone, and no norm behind the
/// last layer.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_RETRIEVAL_H
#define HOCKET_FRONTENDS_SPEC_MODEL_RETRIEVAL_H

#include "frontends/spec/model/LayerPattern.h"
#include "frontends/spec/spec.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::spec {

/// What the names of the encoder's parameters begin with, within the layer.
inline const std::string retrieverPrefix = "cross_attention.encoder.";

/// The layers that attend to neighbours where nobody names them, of a model of
/// so many layers; none of too few (Megatron-LM's
/// get_retro_decoder_block_spec).
std::vector<int64_t> usualRetrievalLayers(int64_t layers);

/// Chunks of a sequence, and tokens of all their neighbours. Of a spec whose
/// sizes are in their ranges; a sequence that is not of whole chunks has those
/// that fit.
int64_t chunksOf(const Spec &spec);
int64_t neighborTokens(const Spec &spec);

/// Layer `layer` of the encoder of a model with retrieval, as a kind of layer;
/// the first one retrieves from the chunk.
ResolvedKind retrieverKind(const Model &model, int64_t layer);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_RETRIEVAL_H
