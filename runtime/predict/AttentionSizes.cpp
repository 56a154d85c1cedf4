//===- AttentionSizes.cpp - What a call of attention computes -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/AttentionSizes.h"

#include <algorithm>
#include <string>

using namespace hocket;

double AttentionSizes::span() const {
  return window > 0 ? std::min(window, keys) : keys;
}

double AttentionSizes::forwardFlops() const {
  double half = causal && window == 0 ? 0.5 : 1;
  return 4 * sequences * heads * queries * span() * headDim * half;
}

std::optional<AttentionSizes>
hocket::attentionSizesOf(const program::Library &call) {
  const std::string &op = call.op();
  bool isShard = op.ends_with("_shard") || op.ends_with("_documents") ||
                 op.ends_with("_biased");
  bool isForward = op.starts_with("attention_forward");
  bool isBackward = op.starts_with("attention_backward");
  if ((!isForward && !isBackward) || call.integers_size() < (isShard ? 9 : 7))
    return std::nullopt;
  auto integer = [&](int i) { return double(call.integers(i)); };
  AttentionSizes sizes;
  sizes.elementBytes = call.integers(0) == program::F32 ? 4 : 2;
  sizes.sequences = integer(1);
  sizes.queries = integer(2);
  sizes.heads = integer(3);
  sizes.headDim = integer(5);
  sizes.causal = call.integers(6) != 0;
  sizes.window = call.integers_size() > 7 ? integer(7) : 0;
  sizes.keys = isShard ? integer(8) : integer(2);
  sizes.backward = isBackward;
  return sizes;
}
