//===- CrossEntropy.cpp - Softmax cross-entropy ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/CrossEntropy.h"

#include <algorithm>
#include <cmath>

namespace hocket::kernels {

KernelError checkLabels(const int32_t *labels, int64_t tokens,
                        int64_t validVocab) {
  for (int64_t t = 0; t < tokens; ++t)
    if (labels[t] < -1 || labels[t] >= validVocab)
      return "cross_entropy: a label is outside the vocabulary";
  return nullptr;
}

int64_t countLabels(const int32_t *labels, int64_t tokens) {
  return std::count_if(labels, labels + tokens,
                       [](int32_t label) { return label >= 0; });
}

KernelError
reference::crossEntropyForward(const CrossEntropyForwardArguments &args) {
  if (KernelError error =
          checkLabels(args.labels, args.tokens, args.validVocab))
    return error;
  double total = 0;
  for (int64_t t = 0; t < args.tokens; ++t) {
    int64_t row = t * args.vocab;
    double largest = load(args.logits, row), sum = 0;
    for (int64_t c = 1; c < args.validVocab; ++c)
      largest = std::max(largest, load(args.logits, row + c));
    for (int64_t c = 0; c < args.validVocab; ++c)
      sum += std::exp(load(args.logits, row + c) - largest);
    double lse = largest + std::log(sum);
    store(args.lse, t, lse);
    if (args.labels[t] >= 0)
      total += lse - load(args.logits, row + args.labels[t]);
  }
  int64_t count = countLabels(args.labels, args.tokens);
  store(args.loss, 0, count ? total / static_cast<double>(count) : 0);
  return nullptr;
}

KernelError
reference::crossEntropyBackward(const CrossEntropyBackwardArguments &args) {
  if (KernelError error =
          checkLabels(args.labels, args.tokens, args.validVocab))
    return error;
  double count = static_cast<double>(countLabels(args.labels, args.tokens));
  if (args.count.data)
    count = load(args.count, 0);
  double mean = count > 0 ? load(args.dloss, 0) / count : 0;
  for (int64_t t = 0; t < args.tokens; ++t)
    for (int64_t c = 0; c < args.vocab; ++c) {
      int64_t at = t * args.vocab + c;
      double gradient = 0;
      if (args.labels[t] >= 0 && c < args.validColumns())
        gradient = mean * (std::exp(load(args.logits, at) - load(args.lse, t)) -
                           (args.firstColumn + c == args.labels[t] ? 1 : 0));
      store(args.dlogits, at, gradient);
    }
  return nullptr;
}

/// log(sum(exp)) of columns [begin, end); minus infinity of none.
static double logSumExp(ConstView logits, int64_t begin, int64_t end) {
  double largest = -HUGE_VAL, sum = 0;
  for (int64_t c = begin; c < end; ++c)
    largest = std::max(largest, load(logits, c));
  for (int64_t c = begin; c < end; ++c)
    sum += std::exp(load(logits, c) - largest);
  return begin < end ? largest + std::log(sum) : largest;
}

KernelError reference::crossEntropyRows(const CrossEntropyRowsArguments &args) {
  if (KernelError error =
          checkLabels(args.labels, args.tokens, args.validVocab))
    return error;
  int64_t valid =
      std::clamp<int64_t>(args.validVocab - args.firstColumn, 0, args.vocab);
  int64_t part = (args.vocab + args.parts - 1) / args.parts;
  for (int64_t t = 0; t < args.tokens; ++t) {
    int64_t row = t * args.vocab, label = args.labels[t] - args.firstColumn;
    for (int64_t p = 0; p < args.parts; ++p)
      store(args.lse, t * args.parts + p,
            logSumExp(args.logits, row + std::min(valid, p * part),
                      row + std::min(valid, (p + 1) * part)));
    bool isHere = args.labels[t] >= 0 && label >= 0 && label < args.vocab;
    store(args.picked, t, isHere ? load(args.logits, row + label) : 0);
  }
  return nullptr;
}

KernelError
reference::crossEntropyJoint(const CrossEntropyJointArguments &args) {
  if (KernelError error = crossEntropyRows(args.rows()))
    return error;
  return crossEntropyBackward(args.backward());
}

void reference::meanLoss(const MeanLossArguments &args) {
  double sum = 0;
  for (int64_t t = 0; t < args.tokens; ++t)
    if (args.labels[t] >= 0)
      sum += load(args.lse, t) - load(args.picked, t);
  store(args.loss, 0, args.count > 0 ? sum / args.count : 0);
}

} // namespace hocket::kernels
