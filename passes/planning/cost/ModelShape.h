//===- ModelShape.h - The sizes that a price depends on ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the cost model knows of a decoder-only transformer and of its training.
/// All sizes are global. Counts of parameters leave out biases and norms of
/// heads, which are far below one in a thousand.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_MODELSHAPE_H
#define HOCKET_PASSES_PLANNING_COST_MODELSHAPE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::planning {

struct ModelShape {
  std::string name;
  int64_t layers = 1;
  int64_t hidden = 1;
  int64_t heads = 1;
  int64_t kvHeads = 1;
  int64_t headDim = 1;
  int64_t ffn = 1;
  bool gated = false;
  int64_t vocab = 1;     ///< Padding included.
  int64_t positions = 0; ///< Of a learned position embedding; else 0.
  bool tied = true;      ///< The head is the embedding.
  int64_t window = 0;    ///< Of sliding attention; 0: none.

  /// 0: every layer is dense. Else layers from `denseLayers` on have experts.
  int64_t experts = 0;
  int64_t topK = 0;
  int64_t expertFfn = 0;
  int64_t sharedFfn = 0;
  int64_t denseLayers = 0;
  /// What an expert takes at most, times an even share; 0: all that come.
  double capacity = 0;
  /// Without that, where ranks share experts out: the rows that one has room
  /// for, times an even share; 0: the default (plan::expertRowsBound()).
  double rowsBound = 0;
  bool dropout = true; ///< Of what blocks add to the stream.

  int64_t expertLayers() const { return experts ? layers - denseLayers : 0; }
  bool hasExperts(int64_t layer) const {
    return experts > 0 && layer >= denseLayers;
  }
  /// Matrices of an MLP: 3 with a gate, else 2.
  int64_t matrices() const { return gated ? 3 : 2; }

  double attentionParameters() const;
  /// Of a layer, outside of its routed experts.
  double sharedParameters(bool expertLayer) const;
  /// Of the routed experts of one layer, all of them.
  double expertParameters() const;
  double embeddingParameters() const;
  double headParameters() const;
  double parameters() const;
};

/// A training step's work. Sequences are of one length.
struct StepShape {
  int64_t sequence = 1;     ///< Tokens.
  int64_t globalBatch = 1;  ///< Sequences of a step.
  int64_t elementBits = 16; ///< Of weights' GEMMs: 32, 16 or 8.
  /// Sequences of earlier steps, where the batch grows: a plan must have them,
  /// but it is priced by `globalBatch`, in which all but a little is trained.
  std::vector<int64_t> smallerBatches = {};
  /// Sequences that all data-parallel ranks compute at a time, where the loss
  /// depends on which these are: a plan must keep it. 0: nothing depends on it.
  int64_t microbatch = 0;

  double tokens() const { return double(sequence) * double(globalBatch); }
};

/// FLOPs that the mathematics asks for, forward and backward, causal attention
/// counted once (half of the square):
///   6 T (L (h ffn f + h (n d + 2 g d) + n d h) + h V) + 6 Q L n d.
double modelFlops(const ModelShape &model, const StepShape &step);

/// The same with the whole square of attention, as Megatron-Core counted before
/// release 0.12.
double modelFlopsFullSquare(const ModelShape &model, const StepShape &step);

/// Refuses sizes of a model or a step that are not positive or overflow what is
/// computed of them.
Status checkShapes(const ModelShape &model, const StepShape &step);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_MODELSHAPE_H
