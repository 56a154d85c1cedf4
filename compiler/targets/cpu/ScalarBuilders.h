//===- ScalarBuilders.h - A fused region's ops on vectors -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The ops of compiler/targets/loops/ScalarOps.h as the same computation on
/// vectors.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_SCALARBUILDERS_H
#define HOCKET_COMPILER_TARGETS_CPU_SCALARBUILDERS_H

#include "kernels/reference/Element.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace hocket::cpu {

/// Builds `source`, an op of one scalar result that ScalarOps.h lists, on
/// `operands`, which are either all scalars or all vectors of one width; the
/// result is `type`. `source` may live in another context.
mlir::Value buildScalarOp(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Operation &source, mlir::ValueRange operands,
                          mlir::Type type);

/// The type that a value of `type` has in the generated code of `context`:
/// f32, f16, i1, i32 and i64 stay, bf16 and 8-bit floats are their bits (i16,
/// i8); null for any other.
mlir::Type translateScalarType(mlir::Type type, mlir::MLIRContext *context);

/// The shape of `like` (a scalar or a vector) with `element` as element type.
mlir::Type withElementType(mlir::Type like, mlir::Type element);

/// `value` in every lane of `type`, which is a scalar or vector type of float
/// or integer elements.
mlir::Value constantFloat(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Type type, double value);
mlir::Value constantInt(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Type type, int64_t value);

/// bf16 held as i16 to f32 and back, scalars or vectors. Back rounds to
/// nearest even; a NaN stays a (quiet) NaN.
mlir::Value bf16ToF32(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value bits);
mlir::Value f32ToBf16(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);

/// An 8-bit format held as i8 to f32 and back, scalars or vectors, with the
/// bits of kernels/reference/Element.h: back rounds to nearest even and
/// saturates, a NaN becomes 0x7f.
mlir::Value f8ToF32(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value code, kernels::DType format);
mlir::Value f32ToF8(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, kernels::DType format);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_SCALARBUILDERS_H
