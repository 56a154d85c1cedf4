//===- PieceLibrary.cpp - The library's ops on pieces of tensors ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/CrossEntropy.h"
#include "kernels/cpu/LibraryCalls.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hocket::kernels::library {

//===----------------------------------------------------------------------===//
// Cross-entropy over pieces
//===----------------------------------------------------------------------===//

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

KernelError runCrossEntropyRows(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  CrossEntropyRowsArguments args{n[1],
                                 n[2],
                                 n[3],
                                 n[4],
                                 call.scalars[0],
                                 view(call, 0, typeOf(n[0])),
                                 ids(call, 1),
                                 f32(call, 2),
                                 f32(call, 3)};
  return crossEntropyRows(args, workers);
}

KernelError crossEntropyPieceSizes(Integers n, Floats floats, Bytes bytes) {
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

KernelError runCrossEntropyPiece(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  CrossEntropyBackwardArguments args{n[1],
                                     n[2],
                                     n[3],
                                     view(call, 0, typeOf(n[0])),
                                     ids(call, 1),
                                     f32(call, 2),
                                     f32(call, 3),
                                     view(call, 5, typeOf(n[0])),
                                     call.scalars[0],
                                     f32(call, 4)};
  return crossEntropyBackward(args, workers);
}

KernelError logSumExpSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  Size size;
  bytes[0] = size(4, {n[0], n[1]});
  bytes[1] = size(4, {n[0]});
  return size.bad || n[1] < 1 ? kDimension : nullptr;
}

KernelError runLogSumExp(const LibraryCall &call, Workers &) {
  int64_t rows = call.integers[0], width = call.integers[1];
  auto *from = static_cast<const float *>(at(call, 0));
  auto *to = static_cast<float *>(at(call, 1));
  for (int64_t t = 0; t < rows; ++t, from += width) {
    double largest = *std::max_element(from, from + width), sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += std::exp(from[i] - largest);
    to[t] = static_cast<float>(largest + std::log(sum));
  }
  return nullptr;
}

KernelError countLabelsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 1, floats, 0))
    return error;
  Size size;
  bytes[0] = size(4, {n[0]});
  bytes[1] = 4;
  return size.bad ? kDimension : nullptr;
}

KernelError runCountLabels(const LibraryCall &call, Workers &) {
  int64_t count = countLabels(ids(call, 0), call.integers[0]);
  *static_cast<float *>(at(call, 1)) = static_cast<float>(count);
  return nullptr;
}

KernelError meanLossSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 1, floats, 0))
    return error;
  Size size;
  bytes[0] = bytes[1] = bytes[2] = size(4, {n[0]});
  bytes[3] = bytes[4] = 4;
  return size.bad ? kDimension : nullptr;
}

KernelError runMeanLoss(const LibraryCall &call, Workers &) {
  reference::meanLoss({call.integers[0], f32(call, 0), f32(call, 1),
                       ids(call, 2), *static_cast<float *>(at(call, 3)),
                       f32(call, 4)});
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Pieces of a dim
//===----------------------------------------------------------------------===//

static bool isDType(int64_t code) { return code >= 1 && code <= 6; }

/// [p, o, n] and [o, N] in `pieces` and `whole`.
static KernelError piecesSizes(Integers n, Floats floats, int64_t &pieces,
                               int64_t &whole) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  if (!isDType(n[0]))
    return kDType;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  pieces = size(element, {n[1], n[2], n[3]});
  whole = size(element, {n[2], n[4]});
  return size.bad || n[4] > n[1] * n[3] ? kDimension : nullptr;
}

KernelError gatherPiecesSizes(Integers n, Floats floats, Bytes bytes) {
  return piecesSizes(n, floats, bytes[0], bytes[1]);
}
KernelError scatterPiecesSizes(Integers n, Floats floats, Bytes bytes) {
  return piecesSizes(n, floats, bytes[1], bytes[0]);
}

/// Copies `count` of `room` elements that are there, then zeros.
static void copyPadded(const char *from, char *to, int64_t count, int64_t room,
                       int64_t element) {
  count = std::clamp<int64_t>(count, 0, room);
  if (count > 0)
    std::memcpy(to, from, static_cast<size_t>(count * element));
  std::memset(to + count * element, 0,
              static_cast<size_t>((room - count) * element));
}

KernelError runGatherPieces(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  int64_t element = bytesOf(typeOf(n[0])), pieces = n[1], width = n[3];
  auto task = [&](int64_t row, int) {
    for (int64_t p = 0; p < pieces && p * width < n[4]; ++p)
      std::memcpy(
          static_cast<char *>(at(call, 1)) + (row * n[4] + p * width) * element,
          static_cast<char *>(at(call, 0)) + (p * n[2] + row) * width * element,
          static_cast<size_t>(std::min(width, n[4] - p * width) * element));
  };
  workers.run(n[2], task);
  return nullptr;
}

KernelError runScatterPieces(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  int64_t element = bytesOf(typeOf(n[0])), pieces = n[1], width = n[3];
  auto task = [&](int64_t row, int) {
    for (int64_t p = 0; p < pieces; ++p)
      copyPadded(
          static_cast<char *>(at(call, 0)) + (row * n[4] + p * width) * element,
          static_cast<char *>(at(call, 1)) + (p * n[2] + row) * width * element,
          n[4] - p * width, width, element);
  };
  workers.run(n[2], task);
  return nullptr;
}

KernelError slicePieceSizes(Integers n, Floats floats, Bytes bytes) {
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

KernelError runSlicePiece(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  int64_t element = bytesOf(typeOf(n[0])), first = call.scalars[0];
  if (first < 0 || first > INT32_MAX)
    return "slice_piece: the first element is out of range";
  auto task = [&](int64_t row, int) {
    copyPadded(static_cast<char *>(at(call, 0)) +
                   (row * n[3] + std::min(first, n[3])) * element,
               static_cast<char *>(at(call, 1)) + row * n[2] * element,
               n[3] - first, n[2], element);
  };
  workers.run(n[1], task);
  return nullptr;
}

} // namespace hocket::kernels::library
