//===- Rope.cpp - Rotary position embedding on the CPU --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Rope.h"

#include "kernels/cpu/simd/Kernels.h"

#include <algorithm>
#include <cmath>

namespace hocket::kernels {

KernelError ropeTable(const RopeTableArguments &args, Workers &workers) {
  if (args.headDim % 2 || args.table.dtype != DType::F32)
    return "rope_table: an odd head, or a table that is not f32";
  int64_t half = args.headDim / 2;
  auto task = [&](int64_t at, int) {
    auto *row = static_cast<float *>(args.table.data) + at * args.headDim;
    auto position = static_cast<double>(tablePosition(args, at));
    for (int64_t i = 0; i < half; ++i) {
      double angle = position * args.frequencies[i];
      row[2 * i] = static_cast<float>(std::cos(angle));
      row[2 * i + 1] = static_cast<float>(std::sin(angle));
    }
  };
  workers.run(args.sequence, task);
  return nullptr;
}

KernelError rope(const RopeArguments &args, Workers &workers) {
  if (KernelError error = checkProcessor())
    return error;
  if (args.rotated % 2 || args.table.dtype != DType::F32 ||
      !isFloating(args.x.dtype) || args.x.dtype != args.y.dtype)
    return "rope: an odd head, or an element type it does not take";
  constexpr int64_t tokensPerTask = 32;
  int64_t tokens = args.batch * args.sequence;
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t index, int) {
    int64_t begin = index * tokensPerTask;
    for (int64_t t = begin; t < std::min(begin + tokensPerTask, tokens); ++t)
      row.rope(args, t);
  };
  workers.run((tokens + tokensPerTask - 1) / tokensPerTask, task);
  return nullptr;
}

} // namespace hocket::kernels
