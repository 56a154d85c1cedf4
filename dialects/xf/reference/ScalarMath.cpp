//===- ScalarMath.cpp - Nonlinearities and their derivatives --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/reference/ScalarMath.h"

#include <cmath>
#include <numbers>

using namespace hocket::xf;

/// The argument of the tanh in GELU's tanh form (arXiv 1606.08415).
static double geluInner(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}

double hocket::xf::activate(ActivationKind kind, double x) {
  switch (kind) {
  case ActivationKind::Gelu:
    return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  case ActivationKind::GeluTanh:
    return 0.5 * x * (1 + std::tanh(geluInner(x)));
  case ActivationKind::Silu:
    return x / (1 + std::exp(-x));
  case ActivationKind::QuickGelu:
    return x / (1 + std::exp(-1.702 * x));
  case ActivationKind::Relu:
    return x > 0 ? x : 0;
  case ActivationKind::ReluSquared:
    return x > 0 ? x * x : 0;
  case ActivationKind::Tanh:
    return std::tanh(x);
  }
}

double hocket::xf::activateGradient(ActivationKind kind, double x) {
  switch (kind) {
  case ActivationKind::Gelu: {
    double cumulative = 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
    double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    return cumulative + x * density;
  }
  case ActivationKind::GeluTanh: {
    double t = std::tanh(geluInner(x));
    double slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
  }
  case ActivationKind::Silu: {
    double s = 1 / (1 + std::exp(-x));
    return s * (1 + x * (1 - s));
  }
  case ActivationKind::QuickGelu: {
    double s = 1 / (1 + std::exp(-1.702 * x));
    return s * (1 + 1.702 * x * (1 - s));
  }
  case ActivationKind::Relu:
    return x > 0 ? 1 : 0;
  case ActivationKind::ReluSquared:
    return x > 0 ? 2 * x : 0;
  case ActivationKind::Tanh: {
    double t = std::tanh(x);
    return 1 - t * t;
  }
  }
}

int64_t hocket::xf::storedPosition(int64_t at, int64_t part, int64_t rounds,
                                   int64_t whole) {
  if (part == 0)
    return at;
  // Each rank's rows, and of them each round's, of which the second half is the
  // mirror image of the first.
  int64_t rows = 2 * part * rounds, rank = at / rows;
  int64_t round = at % rows / (2 * part), row = at % (2 * part);
  int64_t length = whole / rounds, begin = round * length;
  if (row < part)
    return begin + rank * part + row;
  return begin + length - (rank + 1) * part + row - part;
}
