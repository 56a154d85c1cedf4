//===- XfDialect.h - The transformer dialect -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The dialect class, its enums and its attributes.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_XFDIALECT_H
#define HOCKET_DIALECTS_XF_IR_XFDIALECT_H

#include "dialects/step/IR/Step.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

namespace hocket::xf {

using step::stringifyVariableKind;
using step::VariableKind;

} // namespace hocket::xf

#include "dialects/xf/IR/XfDialect.h.inc"
#include "dialects/xf/IR/XfEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/xf/IR/XfAttrs.h.inc"

namespace hocket::xf {

/// Whether a parameter of `role` is a matrix of each expert of a layer.
bool isOfExperts(ParameterRole role);

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_XFDIALECT_H
