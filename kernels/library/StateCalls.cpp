//===- StateCalls.cpp - Calls of state-space layers -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/OpSizes.h"

#include <array>

namespace hocket::kernels::library {

//===----------------------------------------------------------------------===//
// The convolution: dtype, B, S, C, K
//===----------------------------------------------------------------------===//

/// Bytes of a tensor of rows and of a weight.
static KernelError convSizes(Integers n, Floats floats, int64_t &rows,
                             int64_t &weights) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  rows = size(bytesOf(typeOf(n[0])), {n[1], n[2], n[3]});
  weights = size(4, {n[3], n[4]}) / 4;
  bool bad = size.bad || n[2] < 1 || n[3] < 1 || n[4] < 1 || n[4] > kMostTaps;
  return bad ? kDimension : nullptr;
}

KernelError causalConvSizes(Integers n, Floats floats, Bytes bytes) {
  int64_t weights = 0;
  if (KernelError error = convSizes(n, floats, bytes[0], weights))
    return error;
  int64_t element = bytesOf(typeOf(n[0]));
  bytes[1] = bytes[0];
  bytes[2] = element * weights;
  if (bytes.size() > 3)
    bytes[3] = element * n[3];
  return nullptr;
}

KernelError causalConvGradientSizes(Integers n, Floats floats, Bytes bytes) {
  int64_t weights = 0;
  if (KernelError error = convSizes(n, floats, bytes[0], weights))
    return error;
  bytes[1] = 4 * weights;
  bytes[2] = 4 * n[3];
  bytes[3] = bytes[4] = bytes[0];
  bytes[5] = bytesOf(typeOf(n[0])) * weights;
  return nullptr;
}

CausalConvArguments causalConvArguments(const LibraryCall &call) {
  Integers n = call.integers;
  DType t = typeOf(n[0]);
  CausalConvArguments args{n[1],
                           n[2],
                           n[3],
                           n[4],
                           view(call, 1, t),
                           view(call, 2, t),
                           {},
                           view(call, 0, t)};
  if (call.buffers.size() > 3)
    args.bias = view(call, 3, t);
  return args;
}

CausalConvGradientArguments
causalConvGradientArguments(const LibraryCall &call) {
  Integers n = call.integers;
  DType t = typeOf(n[0]);
  return {n[1],
          n[2],
          n[3],
          n[4],
          view(call, 3, t),
          view(call, 4, t),
          view(call, 5, t),
          view(call, 0, t),
          f32(call, 1),
          f32(call, 2)};
}

//===----------------------------------------------------------------------===//
// The recurrence: dtype, B, S, n, p, g, N; least, most
//===----------------------------------------------------------------------===//

static ScanShape scanShape(Integers n, Floats floats) {
  return {n[1],
          n[2],
          n[3],
          n[4],
          n[5],
          n[6],
          static_cast<float>(floats[0]),
          static_cast<float>(floats[1])};
}

namespace {
struct ScanBytes {
  int64_t input = 0, step = 0, map = 0, numbers = 0;
};
} // namespace

static KernelError scanSizes(Integers n, Floats floats, ScanBytes &bytes) {
  if (KernelError error = checkCounts(n, 7, floats, 2))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  int64_t element = bytesOf(typeOf(n[0]));
  Size size;
  bytes.input = size(element, {n[1], n[2], n[3], n[4]});
  bytes.step = size(element, {n[1], n[2], n[3]});
  bytes.map = size(element, {n[1], n[2], n[5], n[6]});
  bytes.numbers = size(4, {n[3]});
  size(8, {n[1], n[2], n[3], n[6] < INT32_MAX / 2 ? n[6] + 3 : -1});
  if (size.bad || n[2] < 1 || n[3] < 1 || n[5] < 1 || n[3] % n[5] != 0 ||
      n[4] < 1 || n[4] > kMostHeadDim || n[6] < 1 || n[6] > kMostState)
    return kDimension;
  bool isCut = floats[0] >= 0 && floats[1] > floats[0];
  return isCut ? nullptr : kFloats;
}

KernelError stateScanSizes(Integers n, Floats floats, Bytes bytes) {
  ScanBytes size;
  if (KernelError error = scanSizes(n, floats, size))
    return error;
  bytes[0] = bytes[1] = size.input;
  bytes[2] = size.step;
  bytes[3] = bytes[4] = size.map;
  bytes[5] = bytes[6] = bytes[7] = size.numbers;
  return nullptr;
}

KernelError stateScanGradientSizes(Integers n, Floats floats, Bytes bytes) {
  ScanBytes size;
  if (KernelError error = scanSizes(n, floats, size))
    return error;
  bytes[0] = bytes[8] = bytes[9] = size.input;
  bytes[1] = bytes[10] = size.step;
  bytes[2] = bytes[3] = bytes[11] = bytes[12] = size.map;
  for (size_t i : {4, 5, 6, 13, 14, 15})
    bytes[i] = size.numbers;
  bytes[7] = 4 * scanWorkspace(scanShape(n, floats));
  return nullptr;
}

StateScanArguments stateScanArguments(const LibraryCall &call) {
  DType t = typeOf(call.integers[0]);
  return {scanShape(call.integers, call.floats),
          view(call, 1, t),
          view(call, 2, t),
          view(call, 3, t),
          view(call, 4, t),
          f32(call, 5),
          f32(call, 6),
          f32(call, 7),
          view(call, 0, t)};
}

StateScanGradientArguments stateScanGradientArguments(const LibraryCall &call) {
  DType t = typeOf(call.integers[0]);
  return {scanShape(call.integers, call.floats),
          view(call, 8, t),
          view(call, 9, t),
          view(call, 10, t),
          view(call, 11, t),
          view(call, 12, t),
          f32(call, 13),
          f32(call, 14),
          f32(call, 15),
          view(call, 0, t),
          view(call, 1, t),
          view(call, 2, t),
          view(call, 3, t),
          f32(call, 4),
          f32(call, 5),
          f32(call, 6),
          floatsAt(call, 7)};
}

//===----------------------------------------------------------------------===//
// Tokens of several texts
//===----------------------------------------------------------------------===//

/// dtype, T, C, K, R as those of a convolution of T sequences of a token.
KernelError cachedConvSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  const int64_t conv[] = {n[0], n[1], 1, n[2], n[3]};
  int64_t weights = 0;
  if (KernelError error = convSizes(conv, floats, bytes[0], weights))
    return error;
  int64_t element = bytesOf(typeOf(n[0]));
  Size size;
  bytes[1] = bytes.back() = size(element, {n[4], n[3] - 1, n[2]});
  bytes[2] = bytes[0];
  bytes[3] = element * weights;
  bytes[4] = bytes[5] = size(4, {n[1]});
  if (bytes.size() > 7)
    bytes[6] = element * n[2];
  return size.bad || n[3] < 2 || n[4] < 1 ? kDimension : nullptr;
}

/// dtype, T, n, p, g, N, R as those of a scan of one sequence of T tokens.
static std::array<int64_t, 7> scanIntegers(Integers n) {
  return {n[0], 1, n[1], n[2], n[3], n[4], n[5]};
}

KernelError cachedScanSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 7, floats, 2))
    return error;
  ScanBytes scan;
  if (KernelError error = scanSizes(scanIntegers(n), floats, scan))
    return error;
  Size size;
  bytes[0] = bytes[2] = scan.input;
  bytes[1] = bytes[11] = size(4, {n[6], n[2], n[3], n[5]});
  bytes[3] = scan.step;
  bytes[4] = bytes[5] = scan.map;
  bytes[6] = bytes[7] = bytes[8] = scan.numbers;
  bytes[9] = bytes[10] = size(4, {n[1]});
  return size.bad || n[6] < 1 ? kDimension : nullptr;
}

CachedConvArguments cachedConvArguments(const LibraryCall &call) {
  Integers n = call.integers;
  DType t = typeOf(n[0]);
  CachedConvArguments args{{n[1],
                            1,
                            n[2],
                            n[3],
                            view(call, 2, t),
                            view(call, 3, t),
                            {},
                            view(call, 0, t)},
                           {n[4], ids(call, 4), ids(call, 5)},
                           view(call, 1, t)};
  if (call.buffers.size() > 7)
    args.conv.bias = view(call, 6, t);
  return args;
}

CachedScanArguments cachedScanArguments(const LibraryCall &call) {
  Integers n = call.integers;
  DType t = typeOf(n[0]);
  return {{scanShape(scanIntegers(n), call.floats), view(call, 2, t),
           view(call, 3, t), view(call, 4, t), view(call, 5, t), f32(call, 6),
           f32(call, 7), f32(call, 8), view(call, 0, t)},
          {n[6], ids(call, 9), ids(call, 10)},
          f32(call, 1)};
}

} // namespace hocket::kernels::library
