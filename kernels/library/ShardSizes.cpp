//===- ShardSizes.cpp - Checks of calls on shards of tensors --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/OpSizes.h"

namespace hocket::kernels::library {

static bool isDType(int64_t code) {
  return code >= 1 && code <= 8 && bytesOf(typeOf(code)) > 0;
}

/// So many integers, of which the first is a type, and no floats.
static KernelError checkTyped(Integers n, size_t integers, Floats floats) {
  if (KernelError error = checkCounts(n, integers, floats, 0))
    return error;
  return isDType(n[0]) ? nullptr : kDType;
}

/// [p, o, n] and [o, N] in `shards` and `whole`.
static KernelError shardsSizes(Integers n, Floats floats, int64_t &shards,
                               int64_t &whole) {
  if (KernelError error = checkTyped(n, 5, floats))
    return error;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  shards = size(element, {n[1], n[2], n[3]});
  whole = size(element, {n[2], n[4]});
  return size.bad || n[4] > n[1] * n[3] ? kDimension : nullptr;
}

KernelError gatherShardsSizes(Integers n, Floats floats, Bytes bytes) {
  return shardsSizes(n, floats, bytes[0], bytes[1]);
}
KernelError scatterShardsSizes(Integers n, Floats floats, Bytes bytes) {
  return shardsSizes(n, floats, bytes[1], bytes[0]);
}

KernelError sliceShardSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkTyped(n, 4, floats))
    return error;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  bytes[0] = size(element, {n[1], n[3]});
  bytes[1] = size(element, {n[1], n[2]});
  return size.bad ? kDimension : nullptr;
}

KernelError insertRowsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkTyped(n, 4, floats))
    return error;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  bytes[0] = size(element, {n[1]});
  bytes[1] = bytes[2] = size(element, {n[2]});
  return size.bad || n[3] < 0 || n[3] > n[2] - n[1] ? kDimension : nullptr;
}

KernelError shiftRowsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkTyped(n, 4, floats))
    return error;
  Size size;
  bytes[0] = bytes[1] = size(bytesOf(typeOf(n[0])), {n[1], n[2]});
  return size.bad || n[3] <= -n[2] || n[3] >= n[2] ? kDimension : nullptr;
}

KernelError joinHeadsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkTyped(n, 6, floats))
    return error;
  if (n[2] < 1 || (n[3] != 1 && n[3] != n[2]))
    return kDimension;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  bytes[0] = size(element, {n[1], n[3], n[4]});
  bytes[1] = size(element, {n[1], n[2], n[5]});
  if (size.bad)
    return kDimension;
  bytes[2] = size(element, {n[1], n[2], n[4] + n[5]});
  return size.bad ? kDimension : nullptr;
}

KernelError sumHeadsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  bytes[0] = size(element, {n[1], n[2], n[3]});
  bytes[1] = size(element, {n[1], n[4]});
  return size.bad || n[2] < 1 || n[4] > n[3] ? kDimension : nullptr;
}

KernelError transposeSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 3, floats, 0))
    return error;
  if (!isF8(typeOf(n[0])))
    return kDType;
  Size size;
  bytes[0] = bytes[1] = size(bytesOf(typeOf(n[0])), {n[1], n[2]});
  return size.bad ? kDimension : nullptr;
}

/// Tensors of `wide` and of 8-bit elements with a scale a block.
static KernelError blocksSizes(Integers n, int64_t narrow, int64_t wide,
                               int64_t &codes, int64_t &scales,
                               int64_t &numbers) {
  if (!isFloating(wide) || !isF8(typeOf(narrow)))
    return kDType;
  for (int64_t i : {5, 6})
    if (n[i] < 1 || n[i] > INT32_MAX)
      return kDimension;
  Size size;
  codes = size(1, {n[2], n[3], n[4]});
  numbers = size(bytesOf(typeOf(wide)), {n[2], n[3], n[4]});
  if (size.bad)
    return kDimension;
  scales = size(4, {n[2], (n[3] + n[5] - 1) / n[5], (n[4] + n[6] - 1) / n[6]});
  return size.bad ? kDimension : nullptr;
}

KernelError quantizeBlocksSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 7, floats, 0))
    return error;
  return blocksSizes(n, n[1], n[0], bytes[1], bytes[2], bytes[0]);
}

KernelError dequantizeBlocksSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 7, floats, 0))
    return error;
  return blocksSizes(n, n[0], n[1], bytes[0], bytes[1], bytes[2]);
}

} // namespace hocket::kernels::library
