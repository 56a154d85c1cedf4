//===- FragmentEnds.h - Where a fragment's values come from -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parsers, printers and a verifier of the sources of a fragment's arguments
/// and the targets of its results, which `pipe.fragment` and `kern.fragment`
/// write alike:
///
///   source  host "tokens" split [["dp"], []]  |  rank 1 tag 3  |  F result 2
///   target  rank 1 tag 3  |  kept
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_STEP_IR_FRAGMENTENDS_H
#define HOCKET_DIALECTS_STEP_IR_FRAGMENTENDS_H

#include "dialects/step/IR/Step.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace hocket::step {

/// `F`, `B`, ...
mlir::ParseResult parseKind(mlir::OpAsmParser &parser, FragmentKind &kind);

/// Sets `source` to a HostAttr, a LinkAttr or a SavedAttr.
mlir::ParseResult parseSource(mlir::OpAsmParser &parser,
                              mlir::Attribute &source);
void printSource(mlir::OpAsmPrinter &printer, mlir::Attribute source);

/// Sets `target` to a LinkAttr or a unit.
mlir::ParseResult parseTarget(mlir::OpAsmParser &parser,
                              mlir::Attribute &target);
void printTarget(mlir::OpAsmPrinter &printer, mlir::Attribute target);

/// Whether each argument of `type`, a tensor, has a source and each result a
/// target, and what is split has the names of axes for each dim. Otherwise
/// fails with an error at `op` that quotes `rule`.
mlir::LogicalResult verifyEnds(mlir::Operation *op, llvm::StringRef rule,
                               mlir::FunctionType type, mlir::ArrayAttr sources,
                               mlir::ArrayAttr targets);

} // namespace hocket::step

#endif // HOCKET_DIALECTS_STEP_IR_FRAGMENTENDS_H
