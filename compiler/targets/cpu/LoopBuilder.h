//===- LoopBuilder.h - Loops, pointers and elements -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An OpBuilder that knows the vector width, with the few address, memory and
/// integer operations that kernels are made of. Every integer is i64 and every
/// pointer `!llvm.ptr`, so that no later type conversion is needed.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_LOOPBUILDER_H
#define HOCKET_COMPILER_TARGETS_CPU_LOOPBUILDER_H

#include "compiler/targets/loops/KernelPlan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <functional>

namespace hocket::cpu {

using loops::Element;
using loops::KernelPlan;
using loops::Level;
using loops::PlanBuffer;
using loops::PlanNode;
using loops::PlanPass;
using loops::PlanResult;

/// Which elements of a vector exist. Default: all.
struct Mask {
  mlir::Value lanes; ///< vector<W x i1>, or null.
};

class LoopBuilder : public mlir::ImplicitLocOpBuilder {
public:
  LoopBuilder(mlir::MLIRContext *context, unsigned width)
      : ImplicitLocOpBuilder(mlir::UnknownLoc::get(context), context),
        width(width) {}

  /// f32 elements of a vector.
  const unsigned width;

  mlir::VectorType vectorOf(mlir::Type element) {
    return mlir::VectorType::get({static_cast<int64_t>(width)}, element);
  }
  mlir::Value splat(mlir::Value scalar);

  /// Arithmetic on i64, folding what is constant.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);

  /// The address of element `at` counted from `base`.
  mlir::Value address(mlir::Value base, mlir::Value at, Element element);

  /// The i64 or pointer number `at` of the array at `base`.
  mlir::Value loadInteger(mlir::Value base, int64_t at);
  mlir::Value loadPointer(mlir::Value base, int64_t at);

  /// Elements as f32: one, or a vector (lanes outside the mask read as 0 and
  /// are not touched).
  mlir::Value loadScalar(mlir::Value address, Element element);
  mlir::Value loadVector(mlir::Value address, Element element, Mask mask);
  void storeScalar(mlir::Value value, mlir::Value address, Element element);
  void storeVector(mlir::Value value, mlir::Value address, Element element,
                   Mask mask);

  /// Asks for the cache line at `address` to be brought near; it may lie
  /// outside of any buffer.
  void prefetch(mlir::Value address);

  /// `for (i = low; i < high; i += step)` with loop-carried values; `body`
  /// returns the next ones.
  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> loop(mlir::Value low, mlir::Value high,
                                      int64_t step, mlir::ValueRange carried,
                                      LoopBody body);

private:
  mlir::Type memoryType(Element element);
  mlir::Value toF32(mlir::Value loaded, Element element);
  mlir::Value fromF32(mlir::Value value, Element element);
};

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_LOOPBUILDER_H
