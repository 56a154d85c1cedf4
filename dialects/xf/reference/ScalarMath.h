//===- ScalarMath.h - Nonlinearities and their derivatives ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The scalar functions of `xf.activation` and `xf.gated` in f64.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_REFERENCE_SCALARMATH_H
#define HOCKET_DIALECTS_XF_REFERENCE_SCALARMATH_H

#include "dialects/xf/IR/XfDialect.h"

namespace hocket::xf {

/// The value of the nonlinearity at `x`.
double activate(ActivationKind kind, double x);

/// Its derivative at `x` (of relu at 0: 0).
double activateGradient(ActivationKind kind, double x);

/// The position of the row stored at `at`, of `whole` rows in parts of `part`
/// (0: in order) and rounds; see `part` of xf.attention.
int64_t storedPosition(int64_t at, int64_t part, int64_t rounds, int64_t whole);

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_REFERENCE_SCALARMATH_H
