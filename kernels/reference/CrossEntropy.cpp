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
  int64_t count = countLabels(args.labels, args.tokens);
  double mean = count ? load(args.dloss, 0) / static_cast<double>(count) : 0;
  for (int64_t t = 0; t < args.tokens; ++t)
    for (int64_t c = 0; c < args.vocab; ++c) {
      int64_t at = t * args.vocab + c;
      double gradient = 0;
      if (args.labels[t] >= 0 && c < args.validVocab)
        gradient = mean * (std::exp(load(args.logits, at) - load(args.lse, t)) -
                           (c == args.labels[t] ? 1 : 0));
      store(args.dlogits, at, gradient);
    }
  return nullptr;
}

} // namespace hocket::kernels
