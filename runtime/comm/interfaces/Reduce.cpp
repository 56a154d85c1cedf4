//===- Reduce.cpp - Sums and maxima in rank order -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/Reduce.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::comm;
using kernels::bf16ToFloat;
using kernels::f16ToFloat;
using kernels::floatToBf16;
using kernels::floatToF16;

namespace {
// One struct an element type: how it is stored and what it is added in.
struct F32 {
  using Stored = float;
  using Sum = float;
  static float load(float x) { return x; }
  static float store(float x) { return x; }
};
struct Bf16 {
  using Stored = uint16_t;
  using Sum = float;
  static float load(uint16_t x) { return bf16ToFloat(x); }
  static uint16_t store(float x) { return floatToBf16(x); }
};
struct F16 {
  using Stored = uint16_t;
  using Sum = float;
  static float load(uint16_t x) { return f16ToFloat(x); }
  static uint16_t store(float x) { return floatToF16(x); }
};
struct I32 {
  using Stored = int32_t;
  using Sum = int32_t;
  static int32_t load(int32_t x) { return x; }
  static int32_t store(int32_t x) { return x; }
};
} // namespace

static float add(float a, float b) { return a + b; }
static int32_t add(int32_t a, int32_t b) {
  return int32_t(uint32_t(a) + uint32_t(b));
}
static float larger(float a, float b) { return b > a || b != b ? b : a; }
static int32_t larger(int32_t a, int32_t b) { return b > a ? b : a; }

template <typename Type>
static void reduceAs(std::span<const void *const> parts, void *to,
                     uint64_t count, Reduction reduction) {
  using Stored = typename Type::Stored;
  constexpr uint64_t block = 1024;
  typename Type::Sum sum[block];
  for (uint64_t begin = 0; begin < count; begin += block) {
    uint64_t n = std::min(block, count - begin);
    for (size_t p = 0; p < parts.size(); ++p) {
      const Stored *part = static_cast<const Stored *>(parts[p]) + begin;
      if (p == 0)
        for (uint64_t i = 0; i < n; ++i)
          sum[i] = Type::load(part[i]);
      else if (reduction == Reduction::Sum)
        for (uint64_t i = 0; i < n; ++i)
          sum[i] = add(sum[i], Type::load(part[i]));
      else
        for (uint64_t i = 0; i < n; ++i)
          sum[i] = larger(sum[i], Type::load(part[i]));
    }
    for (uint64_t i = 0; i < n; ++i)
      static_cast<Stored *>(to)[begin + i] = Type::store(sum[i]);
  }
}

void comm::reduceParts(std::span<const void *const> parts, void *to,
                       uint64_t count, DType dtype, Reduction reduction) {
  switch (dtype) {
  case DType::F32:
    return reduceAs<F32>(parts, to, count, reduction);
  case DType::BF16:
    return reduceAs<Bf16>(parts, to, count, reduction);
  case DType::F16:
    return reduceAs<F16>(parts, to, count, reduction);
  case DType::I32:
    return reduceAs<I32>(parts, to, count, reduction);
  case DType::F64:
  case DType::F8E4M3:
  case DType::F8E5M2:
    return;
  }
}
