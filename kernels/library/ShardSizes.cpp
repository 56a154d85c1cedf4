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

/// [p, o, n] and [o, N] in `shards` and `whole`.
static KernelError shardsSizes(Integers n, Floats floats, int64_t &shards,
                               int64_t &whole) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  if (!isDType(n[0]))
    return kDType;
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
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (!isDType(n[0]))
    return kDType;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  bytes[0] = size(element, {n[1], n[3]});
  bytes[1] = size(element, {n[1], n[2]});
  return size.bad ? kDimension : nullptr;
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

} // namespace hocket::kernels::library
