//===- VectorMath.h - Functions of vectors ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// exp, the normal distribution and the activations of kernels, for all lanes
/// at once. Errors are relative to the exact value, measured by the tests.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_VECTORMATH_H
#define HOCKET_KERNELS_CPU_SIMD_VECTORMATH_H

#include "kernels/cpu/simd/Vector.h"
#include "kernels/reference/Gemm.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

/// c[0] + c[1] x + ... by Horner's rule.
template <int N> HOCKET_INLINE Vec polynomial(Vec x, const float (&c)[N]) {
  Vec sum = broadcast(c[N - 1]);
#pragma unroll
  for (int i = N - 2; i >= 0; --i)
    sum = fma(sum, x, broadcast(c[i]));
  return sum;
}

/// e^x within 2e-7; 0 at -infinity, infinity above 88.7, NaN of NaN.
HOCKET_INLINE Vec exp(Vec x) {
  x = max(broadcast(-110.0f), min(broadcast(90.0f), x));
  // x = n ln 2 + r with |r| <= ln 2 / 2; ln 2 in two parts (Cody and Waite).
  Vec n = round(mul(x, broadcast(1.44269504f)));
  Vec r = fnma(n, broadcast(0.693359375f), x);
  r = fnma(n, broadcast(-2.12194440e-4f), r);
  static constexpr float series[] = {
      1.0f,          1.0f,           0.5f,          0.166664049f,
      0.0416661985f, 0.00837596133f, 0.00139497698f};
  return scaleByPowerOfTwo(polynomial(r, series), n);
}

/// P(Z <= x) of a standard normal Z, within 5e-7 for |x| < 6. For x < 0 it is
/// exp(g(-x) - x^2 / 2), where g(t) = log P(Z <= -t) + t^2 / 2 is smooth; the
/// polynomial approximates g over [0, 6] in u = t / 3 - 1.
HOCKET_INLINE Vec normalCdf(Vec x) {
  Vec t = abs(x);
  Vec u = fma(min(t, broadcast(6.0f)), broadcast(1.0f / 3), broadcast(-1.0f));
  static constexpr float g[] = {
      -2.1077261f,    -0.849296033f,    0.317513108f,     -0.141616479f,
      0.0639285445f,  -0.0275102369f,   0.0106396768f,    -0.00357145141f,
      0.00116889109f, -6.47400375e-05f, -0.000482076313f, 0.000248031341f};
  Vec tail = exp(fma(mul(t, broadcast(-0.5f)), t, polynomial(u, g)));
  return selectLess(x, zero(), tail, sub(broadcast(1.0f), tail));
}

/// x / (1 + e^-y).
HOCKET_INLINE Vec timesSigmoid(Vec x, Vec y) {
  return div(x, add(broadcast(1.0f), exp(sub(zero(), y))));
}

HOCKET_INLINE Vec tanh(Vec x) {
  // 2 sigmoid(2x) - 1 cancels near 0, where the series has all bits.
  Vec square = mul(x, x);
  static constexpr float series[] = {1.0f, -0.333333333f, 0.133333333f,
                                     -0.0539682540f, 0.0218694885f};
  Vec small = mul(x, polynomial(square, series));
  Vec large = sub(timesSigmoid(broadcast(2.0f), add(x, x)), broadcast(1.0f));
  return selectLess(abs(x), broadcast(0.25f), small, large);
}

HOCKET_INLINE Vec activate(Epilogue epilogue, Vec x) {
  switch (epilogue) {
  case Epilogue::None:
    return x;
  case Epilogue::Gelu:
    return mul(x, normalCdf(x));
  case Epilogue::GeluTanh: {
    // (1 + tanh(u)) / 2 is the sigmoid of 2u.
    Vec cubic = fma(mul(mul(x, x), x), broadcast(0.044715f), x);
    return timesSigmoid(x, mul(cubic, broadcast(2 * 0.797884561f)));
  }
  case Epilogue::Silu:
    return timesSigmoid(x, x);
  case Epilogue::QuickGelu:
    return timesSigmoid(x, mul(x, broadcast(1.702f)));
  case Epilogue::Relu:
    return max(zero(), x);
  case Epilogue::ReluSquared: {
    Vec positive = max(zero(), x);
    return mul(positive, positive);
  }
  case Epilogue::Tanh:
    return tanh(x);
  }
  return x;
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_VECTORMATH_H
