//===- ServedExperts.h - Experts of tokens that are alone -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_SERVEDEXPERTS_H
#define HOCKET_PASSES_XF_SERVEDEXPERTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket::xf {

/// Gives every token of `function` a row of its own with each expert, where its
/// experts drop no token: a capacity of 1, as each token is a sequence there.
/// That is few rows more, and devices that share the experts out know
/// beforehand how many travel.
void giveRowWithEachExpert(mlir::func::FuncOp function);

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_SERVEDEXPERTS_H
