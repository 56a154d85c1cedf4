//===- Embedding.cpp - Embedding lookup and gradient on the CPU -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Embedding.h"

#include "kernels/cpu/simd/Kernels.h"

#include <algorithm>
#include <cstring>

namespace hocket::kernels {
namespace {

constexpr int64_t kTokensPerTask = 64;
constexpr int64_t kVocabularyParts = 64;

constexpr KernelError kEmbeddingTypes =
    "embedding: an element type is not f32, bf16 or f16";

void *rowOf(View view, int64_t row, int64_t width) {
  return static_cast<char *>(view.data) + row * width * bytesOf(view.dtype);
}

/// The tokens of all ids in [first, last), in order: no other task writes
/// these rows, so the sums have one order.
void gradientPart(const EmbeddingGradientArguments &args, const RowKernels &row,
                  int64_t first, int64_t last) {
  int64_t width = args.hidden;
  auto *table = static_cast<float *>(args.dtable.data);
  if (!args.accumulate)
    std::memset(table + first * width, 0, (last - first) * width * 4);
  for (int64_t t = 0; t < args.tokens; ++t) {
    int64_t to = args.ids[t] - args.firstRow;
    if (to >= first && to < last)
      row.add(args.dy, t * width, table + to * width, width);
  }
}

} // namespace

KernelError embedding(const EmbeddingArguments &args, Workers &workers) {
  if (KernelError error = checkProcessor())
    return error;
  if (!isFloating(args.table.dtype) || !isFloating(args.out.dtype))
    return kEmbeddingTypes;
  if (!args.isShard)
    if (KernelError error = checkIds(args.ids, args.tokens, args.vocab))
      return error;
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t index, int) {
    int64_t begin = index * kTokensPerTask;
    int64_t end = std::min(begin + kTokensPerTask, args.tokens);
    for (int64_t t = begin; t < end; ++t) {
      int64_t from = args.ids[t] - args.firstRow;
      if (from >= 0 && from < args.vocab)
        row.copy(args.table, from * args.hidden, args.out, t * args.hidden,
                 args.hidden);
      else
        std::memset(rowOf(args.out, t, args.hidden), 0,
                    args.hidden * bytesOf(args.out.dtype));
    }
  };
  workers.run((args.tokens + kTokensPerTask - 1) / kTokensPerTask, task);
  return nullptr;
}

KernelError embeddingGradient(const EmbeddingGradientArguments &args,
                              Workers &workers) {
  if (KernelError error = checkProcessor())
    return error;
  if (!isFloating(args.dy.dtype) || args.dtable.dtype != DType::F32)
    return kEmbeddingTypes;
  if (!args.isShard)
    if (KernelError error = checkIds(args.ids, args.tokens, args.vocab))
      return error;
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t part, int) {
    gradientPart(args, row, args.vocab * part / kVocabularyParts,
                 args.vocab * (part + 1) / kVocabularyParts);
  };
  workers.run(kVocabularyParts, task);
  return nullptr;
}

} // namespace hocket::kernels
