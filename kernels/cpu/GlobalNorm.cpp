//===- GlobalNorm.cpp - Euclidean norm of many tensors on the CPU ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/GlobalNorm.h"

#include "kernels/cpu/simd/Kernels.h"

#include <algorithm>
#include <cmath>

namespace hocket::kernels {
namespace {

constexpr int64_t kNormChunk = 16384;
/// Partial sums kept in the scratch of one worker.
constexpr int64_t kMostPartials = 1 << 18;
static_assert(kMostPartials * sizeof(double) <= kScratchBytesPerWorker);

int64_t chunksOf(const GlobalNormArguments::Tensor &tensor) {
  return (tensor.count + kNormChunk - 1) / kNormChunk;
}

/// Sums chunks [begin, end) of one tensor, in order.
double sumChunks(const GlobalNormArguments::Tensor &tensor,
                 const RowKernels &row, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t chunk = begin; chunk < end; ++chunk)
    sum += row.sumOfSquares(
        tensor.values, chunk * kNormChunk,
        std::min(kNormChunk, tensor.count - chunk * kNormChunk));
  return sum;
}

/// The sum of one tensor; the partial sums lie in worker 0's scratch, which
/// no task uses otherwise.
double sumTensor(const GlobalNormArguments::Tensor &tensor, Workers &workers) {
  int64_t chunks = chunksOf(tensor);
  int64_t perTask =
      std::max<int64_t>((chunks + kMostPartials - 1) / kMostPartials, 4);
  int64_t tasks = (chunks + perTask - 1) / perTask;
  auto *partials = reinterpret_cast<double *>(workers.scratch(0).data());
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t index, int) {
    partials[index] = sumChunks(tensor, row, index * perTask,
                                std::min((index + 1) * perTask, chunks));
  };
  workers.run(tasks, task);
  double sum = 0;
  for (int64_t i = 0; i < tasks; ++i)
    sum += partials[i];
  return sum;
}

} // namespace

KernelError globalNorm(const GlobalNormArguments &args, Workers &workers) {
  if (KernelError error = checkProcessor())
    return error;
  double sum = 0;
  for (const GlobalNormArguments::Tensor &tensor : args.tensors) {
    if (!isFloating(tensor.values.dtype))
      return "global_norm: an element type is not f32, bf16 or f16";
    sum += tensor.count <= 4 * kNormChunk
               ? sumChunks(tensor, rowKernelsOf(workers), 0, chunksOf(tensor))
               : sumTensor(tensor, workers);
  }
  // The square of a finite f32 is far below the largest double, and so are
  // sums of them: the sum is finite iff every element is.
  store(args.norm, 0, std::sqrt(sum));
  store(args.nonfinite, 0, std::isfinite(sum) ? 0 : 1);
  return nullptr;
}

} // namespace hocket::kernels
