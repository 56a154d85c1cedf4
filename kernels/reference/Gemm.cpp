//===- Gemm.cpp - GEMM with a fused epilogue ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Gemm.h"

#include <cmath>
#include <utility>

namespace hocket::kernels {

bool parseEpilogue(std::string_view name, Epilogue &epilogue) {
  static constexpr std::pair<std::string_view, Epilogue> names[] = {
      {"", Epilogue::None},
      {"none", Epilogue::None},
      {"gelu", Epilogue::Gelu},
      {"gelu_tanh", Epilogue::GeluTanh},
      {"silu", Epilogue::Silu},
      {"relu", Epilogue::Relu},
      {"relu_squared", Epilogue::ReluSquared},
      {"tanh", Epilogue::Tanh},
      {"quick_gelu", Epilogue::QuickGelu},
  };
  for (auto [known, value] : names)
    if (known == name) {
      epilogue = value;
      return true;
    }
  return false;
}

double reference::activate(Epilogue epilogue, double x) {
  switch (epilogue) {
  case Epilogue::None:
    return x;
  case Epilogue::Gelu:
    return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440));
  case Epilogue::GeluTanh:
    return 0.5 * x *
           (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
  case Epilogue::Silu:
    return x / (1 + std::exp(-x));
  case Epilogue::QuickGelu:
    return x / (1 + std::exp(-1.702 * x));
  case Epilogue::Relu:
    return x > 0 ? x : 0;
  case Epilogue::ReluSquared:
    return x > 0 ? x * x : 0;
  case Epilogue::Tanh:
    return std::tanh(x);
  }
  return x;
}

double reference::activationDerivative(Epilogue epilogue, double x) {
  switch (epilogue) {
  case Epilogue::None:
    return 1;
  case Epilogue::Gelu:
    return 0.5 * (1 + std::erf(x * 0.70710678118654752440)) +
           x * 0.39894228040143267794 * std::exp(-0.5 * x * x);
  case Epilogue::GeluTanh: {
    double t = std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x));
    double slope = 0.79788456080286535588 * (1 + 3 * 0.044715 * x * x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
  }
  case Epilogue::Silu: {
    double s = 1 / (1 + std::exp(-x));
    return s * (1 + x * (1 - s));
  }
  case Epilogue::QuickGelu: {
    double s = 1 / (1 + std::exp(-1.702 * x));
    return s * (1 + 1.702 * x * (1 - s));
  }
  case Epilogue::Relu:
    return x > 0 ? 1 : 0;
  case Epilogue::ReluSquared:
    return x > 0 ? 2 * x : 0;
  case Epilogue::Tanh: {
    double t = std::tanh(x);
    return 1 - t * t;
  }
  }
  return 1;
}

/// Sums op(A) over k.
static void sumLeft(const GemmArguments &args) {
  for (int64_t i = 0; i < args.m; ++i) {
    double sum = 0;
    for (int64_t p = 0; p < args.k; ++p)
      sum += load(args.a, args.transposeA ? p * args.m + i : i * args.k + p);
    store(args.biasGradient, i, sum);
  }
}

KernelError reference::gemm(const GemmArguments &args) {
  if (args.packedB)
    return "gemm: the reference reads an unpacked B only";
  if (KernelError error = checkOperandTypes(args.a.dtype, args.b.dtype))
    return error;
  double alpha = args.alpha;
  alpha *= args.scaleA ? *args.scaleA : 1;
  alpha *= args.scaleB ? *args.scaleB : 1;
  for (int64_t i = 0; i < args.m; ++i)
    for (int64_t j = 0; j < args.n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < args.k; ++p)
        sum += load(args.a, args.transposeA ? p * args.m + i : i * args.k + p) *
               load(args.b, args.transposeB ? j * args.k + p : p * args.n + j);
      int64_t at = i * args.n + j;
      double v = alpha * sum;
      v += args.accumulate ? load(args.d, at) : 0;
      v += args.bias ? load(args.bias, j) : 0;
      double residual = args.residual ? load(args.residual, at) : 0;
      if (args.auxiliary)
        store(args.auxiliary, at, v);
      if (args.preactivation)
        v *= activationDerivative(args.epilogue, load(args.preactivation, at));
      else
        v = activate(args.epilogue, v);
      store(args.d, at, v + residual);
    }
  if (args.biasGradient)
    sumLeft(args);
  return nullptr;
}

} // namespace hocket::kernels
