//===- AttentionSizes.h - What a call of attention computes -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_ATTENTIONSIZES_H
#define HOCKET_RUNTIME_PREDICT_ATTENTIONSIZES_H

#include "runtime/program/program.pb.h"

#include <optional>

namespace hocket {

/// The integers of attention_forward, attention_backward, their shards, those
/// of documents and those with a bias, as kernels/library/Library.h lists them.
/// Where documents begin is data, which no program knows: a sequence counts as
/// one of them.
struct AttentionSizes {
  double sequences = 0, queries = 0, keys = 0;
  double heads = 0, headDim = 0;
  double window = 0; ///< Keys that a query sees at most; 0: all.
  double elementBytes = 4;
  bool causal = false, backward = false;

  /// Keys that a query may see.
  double span() const;
  /// Of two GEMMs of queries and keys: half of the square with a causal
  /// mask. The backward pass has five such GEMMs.
  double forwardFlops() const;
};

/// Nothing for another op, or one with fewer integers than it should have.
std::optional<AttentionSizes> attentionSizesOf(const program::Library &call);

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_ATTENTIONSIZES_H
