//===- ShardLibrary.cpp - The library's ops on shards of tensors ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/LibraryCalls.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hocket::kernels::library {

//===----------------------------------------------------------------------===//
// Rows and labels
//===----------------------------------------------------------------------===//

KernelError runPadRows(const LibraryCall &call, Workers &) {
  Integers n = call.integers;
  size_t element = bytesOf(typeOf(n[0]));
  std::memmove(at(call, 1), at(call, 0), n[1] * element);
  std::memset(static_cast<char *>(at(call, 1)) + n[1] * element, 0,
              (n[2] - n[1]) * element);
  return nullptr;
}

KernelError runAccumulate(const LibraryCall &call, Workers &workers) {
  constexpr int64_t chunk = 16384;
  ConstView from = view(call, 0, typeOf(call.integers[0]));
  int64_t count = call.integers[1];
  auto *to = static_cast<float *>(at(call, 1));
  auto add = [&](int64_t task, int) {
    int64_t end = std::min(count, (task + 1) * chunk);
    for (int64_t i = task * chunk; i < end; ++i) {
      float x = static_cast<float>(load(from, i));
      to[i] = call.accumulate != 0 ? to[i] + x : x;
    }
  };
  workers.run((count + chunk - 1) / chunk, add);
  return nullptr;
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

KernelError runCountLabels(const LibraryCall &call, Workers &) {
  int64_t count = countLabels(ids(call, 0), call.integers[0]);
  *static_cast<float *>(at(call, 1)) = static_cast<float>(count);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Shards of a dim
//===----------------------------------------------------------------------===//

/// Copies `count` of `room` elements that are there, then zeros.
static void copyPadded(const char *from, char *to, int64_t count, int64_t room,
                       int64_t element) {
  count = std::clamp<int64_t>(count, 0, room);
  if (count > 0)
    std::memcpy(to, from, static_cast<size_t>(count * element));
  std::memset(to + count * element, 0,
              static_cast<size_t>((room - count) * element));
}

KernelError runGatherShards(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  int64_t element = bytesOf(typeOf(n[0])), shards = n[1], width = n[3];
  auto task = [&](int64_t row, int) {
    for (int64_t p = 0; p < shards && p * width < n[4]; ++p)
      std::memcpy(
          static_cast<char *>(at(call, 1)) + (row * n[4] + p * width) * element,
          static_cast<char *>(at(call, 0)) + (p * n[2] + row) * width * element,
          static_cast<size_t>(std::min(width, n[4] - p * width) * element));
  };
  workers.run(n[2], task);
  return nullptr;
}

KernelError runScatterShards(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  int64_t element = bytesOf(typeOf(n[0])), shards = n[1], width = n[3];
  auto task = [&](int64_t row, int) {
    for (int64_t p = 0; p < shards; ++p)
      copyPadded(
          static_cast<char *>(at(call, 0)) + (row * n[4] + p * width) * element,
          static_cast<char *>(at(call, 1)) + (p * n[2] + row) * width * element,
          n[4] - p * width, width, element);
  };
  workers.run(n[2], task);
  return nullptr;
}

KernelError runSliceShard(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  int64_t element = bytesOf(typeOf(n[0])), first = call.scalars[0];
  if (first < 0 || first > INT32_MAX)
    return "slice_shard: the first element is out of range";
  auto task = [&](int64_t row, int) {
    copyPadded(static_cast<char *>(at(call, 0)) +
                   (row * n[3] + std::min(first, n[3])) * element,
               static_cast<char *>(at(call, 1)) + row * n[2] * element,
               n[3] - first, n[2], element);
  };
  workers.run(n[1], task);
  return nullptr;
}

KernelError runInsertRows(const LibraryCall &call, Workers &) {
  Integers n = call.integers;
  auto element = static_cast<int64_t>(bytesOf(typeOf(n[0])));
  auto *to = static_cast<char *>(at(call, 2));
  if (at(call, 1) != at(call, 2))
    std::memcpy(to, at(call, 1), static_cast<size_t>(n[2] * element));
  std::memcpy(to + n[3] * element, at(call, 0),
              static_cast<size_t>(n[1] * element));
  return nullptr;
}

KernelError runShiftRows(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  int64_t element = bytesOf(typeOf(n[0])), first = n[3];
  int64_t before = std::max<int64_t>(0, -first); // Zeros.
  auto task = [&](int64_t row, int) {
    char *to = static_cast<char *>(at(call, 1)) + row * n[2] * element;
    std::memset(to, 0, static_cast<size_t>(before * element));
    copyPadded(static_cast<char *>(at(call, 0)) +
                   (row * n[2] + std::max<int64_t>(0, first)) * element,
               to + before * element, n[2] - std::abs(first), n[2] - before,
               element);
  };
  workers.run(n[1], task);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

KernelError runJoinHeads(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  int64_t element = bytesOf(typeOf(n[0])), heads = n[2];
  int64_t before = n[4] * element, own = n[5] * element;
  auto task = [&](int64_t token, int) {
    const char *front =
        static_cast<char *>(at(call, 0)) + token * n[3] * before;
    const char *x = static_cast<char *>(at(call, 1)) + token * heads * own;
    char *to =
        static_cast<char *>(at(call, 2)) + token * heads * (before + own);
    for (int64_t h = 0; h < heads; ++h, to += before + own) {
      std::memcpy(to, front + (n[3] == 1 ? 0 : h) * before,
                  static_cast<size_t>(before));
      std::memcpy(to + before, x + h * own, static_cast<size_t>(own));
    }
  };
  workers.run(n[1], task);
  return nullptr;
}

KernelError runSumHeads(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  ConstView from = view(call, 0, typeOf(n[0]));
  View to = view(call, 1, typeOf(n[0]));
  int64_t heads = n[2], whole = n[3], width = n[4];
  auto task = [&](int64_t token, int) {
    for (int64_t c = 0; c < width; ++c) {
      float sum = 0;
      for (int64_t h = 0; h < heads; ++h)
        sum += static_cast<float>(load(from, (token * heads + h) * whole + c));
      store(to, token * width + c, sum);
    }
  };
  workers.run(n[1], task);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

KernelError runTranspose(const LibraryCall &call, Workers &workers) {
  // Rows of the result that share the cache lines of what they are read from.
  constexpr int64_t side = 64;
  int64_t rows = call.integers[1], columns = call.integers[2];
  auto *from = static_cast<const char *>(at(call, 0));
  auto *to = static_cast<char *>(at(call, 1));
  auto task = [&](int64_t block, int) {
    int64_t end = std::min(columns, (block + 1) * side);
    for (int64_t first = 0; first < rows; first += side)
      for (int64_t j = block * side; j < end; ++j)
        for (int64_t i = first; i < std::min(rows, first + side); ++i)
          to[j * rows + i] = from[i * columns + j];
  };
  workers.run((columns + side - 1) / side, task);
  return nullptr;
}

} // namespace hocket::kernels::library
