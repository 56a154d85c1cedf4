//===- ElementTypes.h - Element types as kernels number them ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one place where MLIR's element types become those of kernels, which are
/// also those of the executable.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_KERN_IR_ELEMENTTYPES_H
#define HOCKET_DIALECTS_KERN_IR_ELEMENTTYPES_H

#include "kernels/reference/Element.h"

#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace hocket::kern {

/// The kernels' name of an element type, or nothing if kernels have none.
inline std::optional<kernels::DType> kernelTypeOf(mlir::Type element) {
  using kernels::DType;
  if (element.isF32())
    return DType::F32;
  if (element.isBF16())
    return DType::BF16;
  if (element.isF16())
    return DType::F16;
  if (element.isInteger(32))
    return DType::I32;
  if (element.isF64())
    return DType::F64;
  if (llvm::isa<mlir::Float8E4M3FNType>(element))
    return DType::F8E4M3;
  if (llvm::isa<mlir::Float8E5M2Type>(element))
    return DType::F8E5M2;
  return std::nullopt;
}

/// The number by which calls of the library name an element type; 0, which
/// every op of the library refuses, if kernels have none.
inline int64_t kernelTypeNumber(mlir::Type element) {
  auto type = kernelTypeOf(element);
  return type ? static_cast<int64_t>(*type) : 0;
}

} // namespace hocket::kern

#endif // HOCKET_DIALECTS_KERN_IR_ELEMENTTYPES_H
