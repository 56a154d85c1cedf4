//===- CrossEntropy.cpp - Softmax cross-entropy on the CPU ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/CrossEntropy.h"

#include "kernels/cpu/simd/Kernels.h"

#include <algorithm>
#include <cmath>

namespace hocket::kernels {
namespace {

constexpr KernelError kLossTypes =
    "cross_entropy: an element type it does not take";

KernelError checkInputs(const int32_t *labels, int64_t tokens,
                        int64_t validVocab) {
  if (KernelError error = checkProcessor())
    return error;
  return checkLabels(labels, tokens, validVocab);
}

bool takesTypes(const CrossEntropyBackwardArguments &args) {
  return isFloating(args.logits.dtype) && args.lse.dtype == DType::F32 &&
         args.dloss.dtype == DType::F32 &&
         args.dlogits.dtype == args.logits.dtype;
}

/// The gradient of a label that counts.
float gradientOfEach(const CrossEntropyBackwardArguments &args) {
  double count = static_cast<double>(countLabels(args.labels, args.tokens));
  if (args.count.data)
    count = load(args.count, 0);
  return count > 0 ? static_cast<float>(load(args.dloss, 0) / count) : 0.0f;
}

/// log(sum(exp)) of `columns` logits from `first` on.
double logSumExp(const RowKernels &row, ConstView logits, int64_t first,
                 int64_t columns) {
  ExpSum sum = row.expSum(logits, first, columns);
  return sum.largest + std::log(static_cast<double>(sum.sum));
}

} // namespace

KernelError crossEntropyForward(const CrossEntropyForwardArguments &args,
                                Workers &workers) {
  if (KernelError error =
          checkInputs(args.labels, args.tokens, args.validVocab))
    return error;
  if (!isFloating(args.logits.dtype) || args.lse.dtype != DType::F32 ||
      args.loss.dtype != DType::F32)
    return kLossTypes;
  auto *lse = static_cast<float *>(args.lse.data);
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t t, int) {
    lse[t] = static_cast<float>(
        logSumExp(row, args.logits, t * args.vocab, args.validVocab));
  };
  workers.run(args.tokens, task);
  double total = 0; // few numbers: in order, by the caller
  for (int64_t t = 0; t < args.tokens; ++t)
    if (args.labels[t] >= 0)
      total += static_cast<double>(lse[t]) -
               load(args.logits, t * args.vocab + args.labels[t]);
  int64_t count = countLabels(args.labels, args.tokens);
  store(args.loss, 0, count ? total / static_cast<double>(count) : 0);
  return nullptr;
}

KernelError crossEntropyBackward(const CrossEntropyBackwardArguments &args,
                                 Workers &workers) {
  if (KernelError error =
          checkInputs(args.labels, args.tokens, args.validVocab))
    return error;
  if (!takesTypes(args))
    return kLossTypes;
  const float mean = gradientOfEach(args);
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t t, int) { row.softmaxGradient(args, t, mean); };
  workers.run(args.tokens, task);
  return nullptr;
}

KernelError crossEntropyRows(const CrossEntropyRowsArguments &args,
                             Workers &workers) {
  if (KernelError error =
          checkInputs(args.labels, args.tokens, args.validVocab))
    return error;
  if (!isFloating(args.logits.dtype) || args.lse.dtype != DType::F32 ||
      args.picked.dtype != DType::F32)
    return kLossTypes;
  int64_t valid =
      std::clamp<int64_t>(args.validVocab - args.firstColumn, 0, args.vocab);
  int64_t part = (args.vocab + args.parts - 1) / args.parts;
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t t, int) {
    int64_t start = t * args.vocab, label = args.labels[t] - args.firstColumn;
    for (int64_t p = 0; p < args.parts; ++p) {
      int64_t begin = std::min(valid, p * part);
      int64_t end = std::min(valid, begin + part);
      double lse = -HUGE_VAL; // of no columns
      if (begin < end)
        lse = logSumExp(row, args.logits, start + begin, end - begin);
      store(args.lse, t * args.parts + p, lse);
    }
    bool isHere = args.labels[t] >= 0 && label >= 0 && label < args.vocab;
    store(args.picked, t, isHere ? load(args.logits, start + label) : 0);
  };
  workers.run(args.tokens, task);
  return nullptr;
}

/// A row is in the cache still when its gradient is taken.
KernelError crossEntropyJoint(const CrossEntropyJointArguments &args,
                              Workers &workers) {
  if (KernelError error =
          checkInputs(args.labels, args.tokens, args.validVocab))
    return error;
  const CrossEntropyBackwardArguments backward = args.backward();
  if (!takesTypes(backward) || args.picked.dtype != DType::F32)
    return kLossTypes;
  const float mean = gradientOfEach(backward);
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t t, int) {
    int64_t start = t * args.vocab, label = args.labels[t];
    store(args.lse, t, logSumExp(row, args.logits, start, args.validVocab));
    store(args.picked, t, label >= 0 ? load(args.logits, start + label) : 0);
    row.softmaxGradient(backward, t, mean);
  };
  workers.run(args.tokens, task);
  return nullptr;
}

} // namespace hocket::kernels
