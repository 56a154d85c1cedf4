//===- Embedding.cpp - Embedding lookup and its gradient ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Embedding.h"

namespace hocket::kernels {

KernelError checkIds(const int32_t *ids, int64_t tokens, int64_t vocab) {
  for (int64_t t = 0; t < tokens; ++t)
    if (ids[t] < 0 || ids[t] >= vocab)
      return "embedding: a token id is outside the vocabulary";
  return nullptr;
}

KernelError reference::embedding(const EmbeddingArguments &args) {
  if (!args.isShard)
    if (KernelError error = checkIds(args.ids, args.tokens, args.vocab))
      return error;
  for (int64_t t = 0; t < args.tokens; ++t) {
    int64_t row = args.ids[t] - args.firstRow;
    bool isHere = row >= 0 && row < args.vocab;
    for (int64_t h = 0; h < args.hidden; ++h)
      store(args.out, t * args.hidden + h,
            isHere ? load(args.table, row * args.hidden + h) : 0);
  }
  return nullptr;
}

KernelError
reference::embeddingGradient(const EmbeddingGradientArguments &args) {
  if (!args.isShard)
    if (KernelError error = checkIds(args.ids, args.tokens, args.vocab))
      return error;
  if (!args.accumulate)
    for (int64_t i = 0; i < args.vocab * args.hidden; ++i)
      store(args.dtable, i, 0);
  for (int64_t t = 0; t < args.tokens; ++t)
    for (int64_t h = 0; h < args.hidden; ++h) {
      int64_t row = args.ids[t] - args.firstRow;
      if (row < 0 || row >= args.vocab)
        continue;
      int64_t to = row * args.hidden + h;
      store(args.dtable, to,
            load(args.dtable, to) + load(args.dy, t * args.hidden + h));
    }
  return nullptr;
}

} // namespace hocket::kernels
