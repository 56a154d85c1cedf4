//===- Embedding.h - Embedding lookup and its gradient ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// out[t, h] = table[ids[t], h], and the gradient
/// dtable[v, h] (+)= sum over t with ids[t] == v of dy[t, h], in order of t.
/// Of a table that is a shard of a larger one (`isShard`), row v is row
/// firstRow + v of that; ids of other shards give zeros, and nothing to dtable.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_EMBEDDING_H
#define HOCKET_KERNELS_REFERENCE_EMBEDDING_H

#include "kernels/reference/Element.h"

namespace hocket::kernels {

struct EmbeddingArguments {
  int64_t tokens = 0, vocab = 0, hidden = 0;
  const int32_t *ids = nullptr; ///< [tokens], each in [0, vocab)
  ConstView table;              ///< [vocab, hidden]
  View out;                     ///< [tokens, hidden]
  bool isShard = false;
  int64_t firstRow = 0; ///< of a shard, at least 0
};

struct EmbeddingGradientArguments {
  int64_t tokens = 0, vocab = 0, hidden = 0;
  const int32_t *ids = nullptr; ///< [tokens], each in [0, vocab)
  ConstView dy;                 ///< [tokens, hidden]
  View dtable;                  ///< [vocab, hidden]; cpu: f32
  bool accumulate = false;      ///< add to dtable, else overwrite all of it
  bool isShard = false;
  int64_t firstRow = 0; ///< of a shard, at least 0
};

/// Null, or that an id is outside [0, vocab).
[[nodiscard]] KernelError checkIds(const int32_t *ids, int64_t tokens,
                                   int64_t vocab);

namespace reference {
[[nodiscard]] KernelError embedding(const EmbeddingArguments &args);
[[nodiscard]] KernelError
embeddingGradient(const EmbeddingGradientArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_EMBEDDING_H
