//===- ScalarCode.h - Writing the scalar code of a region -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lets the code of a fused region read as its formula does:
///
///     Scalar y = x / (1.0 + exp(-x));
///
/// builds the ops of `arith` and `math` that compute silu in f32. Constants
/// are rounded from double to f32 once.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_KERN_SCALARCODE_H
#define HOCKET_PASSES_KERN_SCALARCODE_H

#include "dialects/kern/IR/Kern.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hocket::kern {

/// An f32 (or, as a condition, i1) value of a region that is being built. The
/// builder outlives it.
struct Scalar {
  mlir::ImplicitLocOpBuilder *builder;
  mlir::Value value;

  /// A constant beside this value.
  Scalar constant(double number) const;
};

Scalar operator-(Scalar a);
Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator+(double a, Scalar b);
Scalar operator-(double a, Scalar b);
Scalar operator*(double a, Scalar b);
Scalar operator/(double a, Scalar b);
Scalar operator/(Scalar a, double b);
Scalar operator+(Scalar a, double b);
Scalar operator-(Scalar a, double b);

Scalar sqrt(Scalar a);
Scalar exp(Scalar a);
Scalar expm1(Scalar a);
Scalar erf(Scalar a);
Scalar tanh(Scalar a);
Scalar abs(Scalar a);
/// The greater or lesser; not a number if either is.
Scalar maximum(Scalar a, double b);
Scalar minimum(Scalar a, double b);
/// Conditions: ordered comparisons, false where either is not a number,
/// except notZero, which is then true.
Scalar greater(Scalar a, double b);
Scalar less(Scalar a, double b);
Scalar atLeast(Scalar a, double b);
Scalar notZero(Scalar a);
Scalar select(Scalar condition, Scalar yes, Scalar no);
/// Over the columns of the row; the greatest is not a number if any is none.
Scalar rowSum(Scalar a);
Scalar rowGreatest(Scalar a);
/// As it would be if it had been in memory as `type`.
Scalar rounded(Scalar a, mlir::Type type);

/// The nonlinearity `kind` of `x`; `none` is the identity. `gelu` and
/// `gelu_tanh` after arXiv 1606.08415, `relu_squared` after arXiv 2109.08668.
Scalar activation(Epilogue kind, Scalar x);
/// Its derivative at `x`. That of relu at 0 is 0.
Scalar activationDerivative(Epilogue kind, Scalar x);

} // namespace hocket::kern

#endif // HOCKET_PASSES_KERN_SCALARCODE_H
