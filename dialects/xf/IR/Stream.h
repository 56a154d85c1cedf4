//===- Stream.h - Which argument the residual stream is ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `xf.stream` is on the argument of a layer's function that is the residual
/// stream. The front end knows which, and passes must not guess by shapes. With
/// "sequences" devices share out its sequences alone, and not their positions.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_STREAM_H
#define HOCKET_DIALECTS_XF_IR_STREAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket::xf {

inline constexpr llvm::StringLiteral kStreamAttr = "xf.stream";

inline void markStream(mlir::func::FuncOp function, unsigned i,
                       bool ofSequences = false) {
  mlir::MLIRContext *context = function.getContext();
  mlir::Attribute mark = mlir::UnitAttr::get(context);
  if (ofSequences)
    mark = mlir::StringAttr::get(context, "sequences");
  function.setArgAttr(i, kStreamAttr, mark);
}

inline bool isStreamOfSequences(mlir::func::FuncOp function, unsigned i) {
  return bool(function.getArgAttrOfType<mlir::StringAttr>(i, kStreamAttr));
}

inline bool isStream(mlir::func::FuncOp function, unsigned i) {
  return bool(function.getArgAttr(i, kStreamAttr));
}

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_STREAM_H
