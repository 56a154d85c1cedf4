//===- RowSizes.cpp - Checks of calls on rows -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/OpSizes.h"
#include "kernels/reference/RelativeBuckets.h"

namespace hocket::kernels::library {

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

KernelError embeddingSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  if (!isFloating(n[0]) || !isFloating(n[1]))
    return kDType;
  Size size;
  bytes[0] = size(4, {n[2]});
  bytes[1] = size(bytesOf(typeOf(n[0])), {n[3], n[4]});
  bytes[2] = size(bytesOf(typeOf(n[1])), {n[2], n[4]});
  return size.bad ? kDimension : nullptr;
}

KernelError embeddingGradientSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = size(4, {n[1]});
  bytes[1] = size(bytesOf(typeOf(n[0])), {n[1], n[3]});
  bytes[2] = size(4, {n[2], n[3]});
  return size.bad ? kDimension : nullptr;
}

/// Bytes of rows, of what is a row for each token, and of the sources.
static KernelError placedSizes(Integers n, int64_t &rows, int64_t &tokens,
                               int64_t &sources) {
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  rows = size(4, {n[1], n[2]});
  tokens = size(element, {n[1], n[2], n[4]});
  sources = size(element, {n[1], n[3], n[4]});
  return size.bad || n[2] < 1 || n[3] < 1 ? kDimension : nullptr;
}

KernelError placeRowsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 6, floats, 0))
    return error;
  int64_t rows = 0, tokens = 0, sources = 0;
  if (KernelError error = placedSizes(n, rows, tokens, sources))
    return error;
  if (!isFlag(n[5]))
    return kDimension;
  if (bytes.size() != size_t(3 + n[5]))
    return kCount;
  bytes[0] = bytes[2] = tokens, bytes[1] = rows;
  if (n[5] != 0)
    bytes[3] = sources;
  return nullptr;
}

KernelError placedRowsGradientSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  int64_t rows = 0, tokens = 0, sources = 0;
  if (KernelError error = placedSizes(n, rows, tokens, sources))
    return error;
  bytes[0] = sources, bytes[1] = rows, bytes[2] = tokens;
  return nullptr;
}

KernelError padRowsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 3, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  if (n[1] < 0 || n[2] < n[1] || n[2] > kMostBytes / 4)
    return kDimension;
  bytes[0] = n[1] * bytesOf(typeOf(n[0]));
  bytes[1] = n[2] * bytesOf(typeOf(n[0]));
  return nullptr;
}

KernelError accumulateSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = size(bytesOf(typeOf(n[0])), {n[1]});
  bytes[1] = size(4, {n[1]});
  return size.bad ? kDimension : nullptr;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

KernelError ropeTableSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != 2)
    return kCount;
  Size size;
  bytes[0] = size(4, {n[0], n[1]});
  if (size.bad || n[1] % 2)
    return kDimension;
  return static_cast<int64_t>(floats.size()) == n[1] / 2 ? nullptr : kFloats;
}

KernelError ropeTableShardSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != 4 && n.size() != 5)
    return kCount;
  Size size;
  bytes[0] = size(4, {n[0], n[1]});
  size(1, {n[2]});
  if (size.bad || n[1] % 2 || n[2] < n[0] || !isStoredIn(n, 4, n[3], n[2]))
    return kDimension;
  return static_cast<int64_t>(floats.size()) == n[1] / 2 ? nullptr : kFloats;
}

KernelError ropeTableAtSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != 2)
    return kCount;
  Size size;
  bytes[0] = size(4, {n[0]});
  bytes[1] = size(4, {n[0], n[1]});
  if (size.bad || n[1] % 2)
    return kDimension;
  return static_cast<int64_t>(floats.size()) == n[1] / 2 ? nullptr : kFloats;
}

KernelError positionsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error =
          checkCounts(n.first(std::min<size_t>(n.size(), 3)), 3, floats, 0))
    return error;
  if (n.size() > 4)
    return kCount;
  Size size;
  bytes[0] = size(4, {n[0]});
  size(1, {n[1]});
  bool isEven = isStoredIn(n, 3, n[2], n[1]);
  return size.bad || n[1] < n[0] || !isEven ? kDimension : nullptr;
}

KernelError relativeBucketsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 3, floats, 0))
    return error;
  if (!isFlag(n[2]) || !RelativeBuckets{n[0], n[1], n[2] != 0}.isSound())
    return kDimension;
  bytes[0] = 4 * (2 * n[1] + 1);
  return nullptr;
}

KernelError ropeSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 7, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = bytes[2] = size(bytesOf(typeOf(n[0])), {n[1], n[2], n[3], n[4]});
  bytes[1] = size(4, {n[2], n[6]});
  bool bad = size.bad || n[6] % 2 || n[6] < 1 || n[6] > n[4] || n[3] < 1 ||
             !isFlag(n[5]);
  return bad ? kDimension : nullptr;
}

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//

KernelError globalNormSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != (bytes.size() - 2) * 2 || !floats.empty())
    return floats.empty() ? kCount : kFloats;
  bytes[0] = bytes[1] = 4;
  for (size_t i = 2; i < bytes.size(); ++i) {
    int64_t dtype = n[2 * i - 4], count = n[2 * i - 3];
    if (!isFloating(dtype))
      return kDType;
    if (count < 0 || count > kMostBytes / 4)
      return kDimension;
    bytes[i] = count * bytesOf(typeOf(dtype));
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

KernelError gemmPackSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = size(bytesOf(typeOf(n[0])), {n[1], n[2]});
  if (size.bad || !isFlag(n[3]))
    return kDimension;
  bytes[1] = packedBytes(typeOf(n[0]), n[1], n[2]);
  return nullptr;
}

} // namespace hocket::kernels::library
