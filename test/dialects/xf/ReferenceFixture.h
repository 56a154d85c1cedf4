//===- ReferenceFixture.h - What tests of the reference evaluation share -*- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A context with the dialects, and tensors of fixed random numbers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_DIALECTS_XF_REFERENCEFIXTURE_H
#define HOCKET_TEST_DIALECTS_XF_REFERENCEFIXTURE_H

#include "dialects/xf/IR/Xf.h"
#include "dialects/xf/reference/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <random>

namespace hocket::xf {

/// A context that has loaded what the dialect's functions use.
struct ReferenceContext {
  ReferenceContext() {
    context.loadDialect<XfDialect, mlir::func::FuncDialect,
                        mlir::arith::ArithDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

/// Numbers in [-1, 1), the same for the same seed.
class FixedNumbers {
public:
  explicit FixedNumbers(uint64_t seed) : engine(seed) {}

  double next() { return static_cast<double>(engine() >> 11) * 0x1p-52 - 1; }
  void fill(ReferenceTensor &tensor) {
    for (double &value : tensor.values)
      value = next();
  }

private:
  std::mt19937_64 engine;
};

/// The Frobenius norm of `a - b` over that of `b`.
inline double relativeError(const ReferenceTensor &a,
                            const ReferenceTensor &b) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(size), 1e-30);
}

} // namespace hocket::xf

#endif // HOCKET_TEST_DIALECTS_XF_REFERENCEFIXTURE_H
