//===- Gemm.h - GEMM with a fused epilogue ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// v = alpha * op(A)[m, k] op(B)[k, n] (+ D where accumulate) (+ bias[n]);
/// auxiliary = v; D = epilogue(v) + residual. All matrices are dense and
/// row-major; op transposes.
///
/// Of a backward pass: D = v * epilogue'(preactivation), and biasGradient[m] =
/// op(A) summed over k, which is never added to what was there.
///
/// A and B may both be of 8 bits, of two formats but not both e5m2; then alpha
/// stands for alpha * scaleA * scaleB, two numbers in memory.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_GEMM_H
#define HOCKET_KERNELS_REFERENCE_GEMM_H

#include "kernels/reference/Element.h"

#include <string_view>

namespace hocket::kernels {

/// gelu(x) = x Phi(x); gelu_tanh is its tanh approximation (Hendrycks and
/// Gimpel, 2016) and quick_gelu(x) = x / (1 + exp(-1.702 x)) another (ibid.);
/// silu(x) = x / (1 + exp(-x)); relu_squared is max(x, 0)^2.
enum class Epilogue : int32_t {
  None,
  Gelu,
  GeluTanh,
  Silu,
  Relu,
  ReluSquared,
  Tanh,
  QuickGelu
};

/// "" (or "none"), "gelu", "gelu_tanh", "silu", "relu", "relu_squared", "tanh",
/// "quick_gelu"; false if it is none of them.
[[nodiscard]] bool parseEpilogue(std::string_view name, Epilogue &epilogue);

struct GemmArguments {
  int64_t m = 0, n = 0, k = 0;
  bool transposeA = false; ///< A is stored [k, m]
  bool transposeB = false; ///< B is stored [n, k]
  bool packedB = false;    ///< cpu: b is what gemmPack wrote
  bool accumulate = false;
  float alpha = 1;
  Epilogue epilogue = Epilogue::None;
  ConstView a, b; ///< b.dtype stays the type of the unpacked B if packed
  View d;
  ConstView bias;          ///< [n], or null
  View auxiliary;          ///< [m, n], or null
  ConstView residual;      ///< [m, n], or null; may be d itself
  ConstView preactivation; ///< [m, n], or null
  View biasGradient;       ///< [m], or null
  const float *scaleA = nullptr, *scaleB = nullptr; ///< null: 1
};

/// Null, or why A and B are no two operands of one GEMM.
constexpr KernelError checkOperandTypes(DType a, DType b) {
  if (isF8(a) != isF8(b))
    return "one factor has 8-bit elements and the other has not";
  if (a == DType::F8E5M2 && b == DType::F8E5M2)
    return "both operands are f8e5m2, one of the two must be f8e4m3";
  return nullptr;
}

/// `alpha`, times the scales that there are.
constexpr float scaledAlpha(const GemmArguments &args) {
  float alpha = args.alpha;
  alpha *= args.scaleA ? *args.scaleA : 1;
  return alpha * (args.scaleB ? *args.scaleB : 1);
}

namespace reference {
[[nodiscard]] KernelError gemm(const GemmArguments &args);
/// The epilogue's function of one number.
double activate(Epilogue epilogue, double x);
/// Its derivative; that of relu at 0 is 0.
double activationDerivative(Epilogue epilogue, double x);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_GEMM_H
