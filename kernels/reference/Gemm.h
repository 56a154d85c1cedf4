//===- Gemm.h - Matrix product with a fused epilogue ------------*- C++ -*-===//
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
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_GEMM_H
#define HOCKET_KERNELS_REFERENCE_GEMM_H

#include "kernels/reference/Element.h"

#include <string_view>

namespace hocket::kernels {

/// gelu(x) = x Phi(x); gelu_tanh is its tanh approximation (Hendrycks and
/// Gimpel, 2016); silu(x) = x / (1 + exp(-x)); relu_squared is max(x, 0)^2.
enum class Epilogue : int32_t { None, Gelu, GeluTanh, Silu, Relu, ReluSquared };

/// "" (or "none"), "gelu", "gelu_tanh", "silu", "relu", "relu_squared"; false
/// if it is none of them.
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
  ConstView bias;     ///< [n], or null
  View auxiliary;     ///< [m, n], or null
  ConstView residual; ///< [m, n], or null; may be d itself
};

namespace reference {
[[nodiscard]] KernelError gemm(const GemmArguments &args);
/// The epilogue's function of one number.
double activate(Epilogue epilogue, double x);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_GEMM_H
