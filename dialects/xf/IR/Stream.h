//===- Stream.h - Which argument the residual stream is ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `xf.stream` is on the argument of a layer's function that is the residual
/// stream. The front end knows which, and passes must not guess by shapes.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_STREAM_H
#define HOCKET_DIALECTS_XF_IR_STREAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket::xf {

inline constexpr llvm::StringLiteral kStreamAttr = "xf.stream";

inline void markStream(mlir::func::FuncOp function, unsigned i) {
  function.setArgAttr(i, kStreamAttr,
                      mlir::UnitAttr::get(function.getContext()));
}

inline bool isStream(mlir::func::FuncOp function, unsigned i) {
  return bool(function.getArgAttr(i, kStreamAttr));
}

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_STREAM_H
