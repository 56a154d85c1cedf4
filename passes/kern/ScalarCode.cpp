//===- ScalarCode.cpp - Writing the scalar code of a region ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/kern/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;

namespace hocket::kern {

template <typename OpTy> static Scalar unary(Scalar a) {
  return {a.builder, a.builder->create<OpTy>(a.value)};
}

template <typename OpTy> static Scalar binary(Scalar a, Scalar b) {
  return {a.builder, a.builder->create<OpTy>(a.value, b.value)};
}

static Scalar compare(arith::CmpFPredicate predicate, Scalar a, double b) {
  return {a.builder, a.builder->create<arith::CmpFOp>(predicate, a.value,
                                                      a.constant(b).value)};
}

Scalar Scalar::constant(double number) const {
  Type f32 = builder->getF32Type();
  return {builder, builder->create<arith::ConstantOp>(
                       builder->getFloatAttr(f32, number))};
}

Scalar operator-(Scalar a) { return unary<arith::NegFOp>(a); }
Scalar operator+(Scalar a, Scalar b) { return binary<arith::AddFOp>(a, b); }
Scalar operator-(Scalar a, Scalar b) { return binary<arith::SubFOp>(a, b); }
Scalar operator*(Scalar a, Scalar b) { return binary<arith::MulFOp>(a, b); }
Scalar operator/(Scalar a, Scalar b) { return binary<arith::DivFOp>(a, b); }
Scalar operator+(double a, Scalar b) { return b.constant(a) + b; }
Scalar operator-(double a, Scalar b) { return b.constant(a) - b; }
Scalar operator*(double a, Scalar b) { return b.constant(a) * b; }
Scalar operator/(double a, Scalar b) { return b.constant(a) / b; }
Scalar operator/(Scalar a, double b) { return a / a.constant(b); }
Scalar operator+(Scalar a, double b) { return a + a.constant(b); }
Scalar operator-(Scalar a, double b) { return a - a.constant(b); }

Scalar sqrt(Scalar a) { return unary<math::SqrtOp>(a); }
Scalar exp(Scalar a) { return unary<math::ExpOp>(a); }
Scalar expm1(Scalar a) { return unary<math::ExpM1Op>(a); }
Scalar erf(Scalar a) { return unary<math::ErfOp>(a); }
Scalar tanh(Scalar a) { return unary<math::TanhOp>(a); }
Scalar abs(Scalar a) { return unary<math::AbsFOp>(a); }

Scalar maximum(Scalar a, double b) {
  return binary<arith::MaximumFOp>(a, a.constant(b));
}
Scalar minimum(Scalar a, double b) {
  return binary<arith::MinimumFOp>(a, a.constant(b));
}
Scalar greater(Scalar a, double b) {
  return compare(arith::CmpFPredicate::OGT, a, b);
}
Scalar less(Scalar a, double b) {
  return compare(arith::CmpFPredicate::OLT, a, b);
}
Scalar atLeast(Scalar a, double b) {
  return compare(arith::CmpFPredicate::OGE, a, b);
}
Scalar notZero(Scalar a) { return compare(arith::CmpFPredicate::UNE, a, 0.0); }

Scalar select(Scalar condition, Scalar yes, Scalar no) {
  return {yes.builder, yes.builder->create<arith::SelectOp>(
                           condition.value, yes.value, no.value)};
}

Scalar rowSum(Scalar a) {
  return {a.builder, a.builder->create<ReduceOp>(Reduction::Add, a.value)};
}

Scalar rowGreatest(Scalar a) {
  return {a.builder, a.builder->create<ReduceOp>(Reduction::Max, a.value)};
}

Scalar rounded(Scalar a, Type type) {
  if (type.isF32())
    return a;
  Value narrow = a.builder->create<arith::TruncFOp>(type, a.value);
  return {a.builder,
          a.builder->create<arith::ExtFOp>(a.value.getType(), narrow)};
}

//===----------------------------------------------------------------------===//
// Nonlinearities
//===----------------------------------------------------------------------===//

static constexpr double kSqrtTwoOverPi =
    std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
static constexpr double kCubic = 0.044715;

/// The normal distribution's function at x.
static Scalar normalCdf(Scalar x) {
  return 0.5 * (1.0 + erf((1.0 / std::numbers::sqrt2) * x));
}

/// tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
static Scalar geluTanh(Scalar x) {
  return tanh(kSqrtTwoOverPi * (x * (1.0 + kCubic * (x * x))));
}

static Scalar sigmoid(Scalar x) { return 1.0 / (1.0 + exp(-x)); }

Scalar activation(Epilogue kind, Scalar x) {
  switch (kind) {
  case Epilogue::None:
    return x;
  case Epilogue::Gelu:
    return x * normalCdf(x);
  case Epilogue::GeluTanh:
    return (0.5 * x) * (1.0 + geluTanh(x));
  case Epilogue::Silu:
    return x / (1.0 + exp(-x));
  case Epilogue::QuickGelu:
    return x / (1.0 + exp(-1.702 * x));
  case Epilogue::Relu:
    return maximum(x, 0.0);
  case Epilogue::ReluSquared: {
    Scalar positive = maximum(x, 0.0);
    return positive * positive;
  }
  case Epilogue::Tanh:
    return tanh(x);
  }
  llvm_unreachable("a nonlinearity that the enumeration lacks");
}

Scalar activationDerivative(Epilogue kind, Scalar x) {
  switch (kind) {
  case Epilogue::None:
    return x.constant(1.0);
  case Epilogue::Gelu: {
    constexpr double scale = kSqrtTwoOverPi / 2.0;
    return normalCdf(x) + (scale * x) * exp(-0.5 * (x * x));
  }
  case Epilogue::GeluTanh: {
    Scalar t = geluTanh(x);
    Scalar slope = kSqrtTwoOverPi * (1.0 + (3.0 * kCubic) * (x * x));
    return 0.5 * (1.0 + t) + (0.5 * x) * ((1.0 - t * t) * slope);
  }
  case Epilogue::Silu: {
    Scalar s = sigmoid(x);
    return s * (1.0 + x * (1.0 - s));
  }
  case Epilogue::QuickGelu: {
    Scalar s = sigmoid(1.702 * x);
    return s * (1.0 + (1.702 * x) * (1.0 - s));
  }
  case Epilogue::Relu:
    return select(greater(x, 0.0), x.constant(1.0), x.constant(0.0));
  case Epilogue::ReluSquared:
    return 2.0 * maximum(x, 0.0);
  case Epilogue::Tanh: {
    Scalar t = tanh(x);
    return 1.0 - t * t;
  }
  }
  llvm_unreachable("a nonlinearity that the enumeration lacks");
}

} // namespace hocket::kern
