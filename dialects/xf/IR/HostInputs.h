//===- HostInputs.h - What entry functions are given ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The arguments of an entry function come from the host, and `xf.host` says
/// which of its inputs each is, down to the fragments of `pipe`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_HOSTINPUTS_H
#define HOCKET_DIALECTS_XF_IR_HOSTINPUTS_H

#include "dialects/xf/IR/XfOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include <optional>
#include <utility>

namespace hocket::xf {

inline constexpr llvm::StringLiteral kHostInputAttr = "xf.host";

/// What argument `i` is. One that does not say is the tokens if it is the first
/// and the labels if it is the second.
std::optional<HostInput> hostInputOf(mlir::func::FuncOp function, unsigned i);

void setHostInput(mlir::func::FuncOp function, unsigned i, HostInput input);

/// The argument that is `input`; null if there is none.
mlir::BlockArgument findHostInput(mlir::func::FuncOp function, HostInput input);

/// Whether the arguments are inputs of the host, each another, the tokens and
/// the labels among them.
bool takesMicrobatch(mlir::func::FuncOp function);

/// What each argument of a step's `@backward` is: the arguments of `@forward`,
/// then its results behind the loss. Empty where one of them has no body.
llvm::SmallVector<std::pair<mlir::Value, mlir::BlockArgument>>
argumentsOfBackward(StepOp step, const mlir::SymbolTable &symbols);

/// What a call's values are in the function that it calls: its operands are the
/// arguments, its results what is returned. Empty where that has no body.
llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>
valuesInCallee(mlir::func::CallOp call, const mlir::SymbolTable &symbols);

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_HOSTINPUTS_H
