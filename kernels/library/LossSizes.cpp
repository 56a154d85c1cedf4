//===- LossSizes.cpp - Checks of calls of cross-entropy -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/OpSizes.h"

namespace hocket::kernels::library {

static KernelError crossEntropySizes(Integers n, Floats floats, int64_t &logits,
                                     int64_t &rows) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  logits = size(bytesOf(typeOf(n[0])), {n[1], n[2]});
  rows = size(4, {n[1]});
  return size.bad || n[3] < 1 || n[3] > n[2] ? kDimension : nullptr;
}

KernelError crossEntropyForwardSizes(Integers n, Floats floats, Bytes bytes) {
  bytes[2] = 4;
  KernelError error = crossEntropySizes(n, floats, bytes[0], bytes[1]);
  bytes[3] = bytes[1];
  return error;
}

KernelError crossEntropyBackwardSizes(Integers n, Floats floats, Bytes bytes) {
  bytes[3] = 4;
  KernelError error = crossEntropySizes(n, floats, bytes[0], bytes[1]);
  bytes[2] = bytes[1];
  bytes[4] = bytes[0];
  return error;
}

KernelError crossEntropyRowsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = size(bytesOf(typeOf(n[0])), {n[1], n[2]});
  bytes[1] = bytes[3] = size(4, {n[1]});
  bytes[2] = size(4, {n[1], n[4]});
  bool bad = size.bad || n[3] < 1 || n[3] > INT32_MAX || n[4] < 1;
  return bad ? kDimension : nullptr;
}

KernelError crossEntropyShardSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = bytes[5] = size(bytesOf(typeOf(n[0])), {n[1], n[2]});
  bytes[1] = bytes[2] = size(4, {n[1]});
  bytes[3] = bytes[4] = 4;
  return size.bad || n[3] < 1 || n[3] > INT32_MAX ? kDimension : nullptr;
}

KernelError crossEntropyJointSizes(Integers n, Floats floats, Bytes bytes) {
  bytes[2] = bytes[3] = 4;
  KernelError error = crossEntropySizes(n, floats, bytes[0], bytes[1]);
  bytes[4] = bytes[5] = bytes[1];
  bytes[6] = bytes[0];
  return error;
}

KernelError logSumExpSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  Size size;
  bytes[0] = size(4, {n[0], n[1]});
  bytes[1] = size(4, {n[0]});
  return size.bad || n[1] < 1 ? kDimension : nullptr;
}

KernelError countLabelsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 1, floats, 0))
    return error;
  Size size;
  bytes[0] = size(4, {n[0]});
  bytes[1] = 4;
  return size.bad ? kDimension : nullptr;
}

KernelError meanLossSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 1, floats, 0))
    return error;
  Size size;
  bytes[0] = bytes[1] = bytes[2] = size(4, {n[0]});
  bytes[3] = bytes[4] = 4;
  return size.bad ? kDimension : nullptr;
}

} // namespace hocket::kernels::library
