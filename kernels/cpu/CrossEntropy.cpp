//===- CrossEntropy.cpp - Softmax cross-entropy on the CPU ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/CrossEntropy.h"

#include "kernels/cpu/simd/Kernels.h"

#include <cmath>

namespace hocket::kernels {
namespace {

constexpr KernelError kTypes =
    "cross_entropy: an element type it does not take";

KernelError checkInputs(const int32_t *labels, int64_t tokens,
                        int64_t validVocab) {
  if (KernelError error = checkProcessor())
    return error;
  return checkLabels(labels, tokens, validVocab);
}

} // namespace

KernelError crossEntropyForward(const CrossEntropyForwardArguments &args,
                                Workers &workers) {
  if (KernelError error =
          checkInputs(args.labels, args.tokens, args.validVocab))
    return error;
  if (!isFloating(args.logits.dtype) || args.lse.dtype != DType::F32 ||
      args.loss.dtype != DType::F32)
    return kTypes;
  auto *lse = static_cast<float *>(args.lse.data);
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t t, int) {
    ExpSum sum = row.expSum(args.logits, t * args.vocab, args.validVocab);
    lse[t] = static_cast<float>(sum.largest +
                                std::log(static_cast<double>(sum.sum)));
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
  if (!isFloating(args.logits.dtype) || args.lse.dtype != DType::F32 ||
      args.dloss.dtype != DType::F32 || args.dlogits.dtype != args.logits.dtype)
    return kTypes;
  int64_t count = countLabels(args.labels, args.tokens);
  float mean =
      count
          ? static_cast<float>(load(args.dloss, 0) / static_cast<double>(count))
          : 0.0f;
  const RowKernels &row = rowKernelsOf(workers);
  auto task = [&](int64_t t, int) { row.softmaxGradient(args, t, mean); };
  workers.run(args.tokens, task);
  return nullptr;
}

} // namespace hocket::kernels
