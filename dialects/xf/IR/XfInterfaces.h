//===- XfInterfaces.h - What every op can say -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interfaces of XfInterfaces.td.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_XFINTERFACES_H
#define HOCKET_DIALECTS_XF_IR_XFINTERFACES_H

#include "dialects/xf/IR/FactorRule.h"
#include "dialects/xf/IR/OpCost.h"
#include "dialects/xf/IR/ReferenceTensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/xf/IR/XfInterfaces.h.inc"

#endif // HOCKET_DIALECTS_XF_IR_XFINTERFACES_H
