//===- ElementPlaces.h - Elements of a shard in the whole -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_ELEMENTPLACES_H
#define HOCKET_COMPILER_TARGETS_CPU_ELEMENTPLACES_H

#include "compiler/targets/cpu/LoopBuilder.h"
#include "compiler/targets/loops/WholeElements.h"

namespace hocket::cpu {

/// The place in the whole of `element`, an i64 or a vector of them. `starts`
/// are the values of the op's `at`, as i64.
mlir::Value placeInWhole(LoopBuilder &builder,
                         const loops::WholeElements &whole,
                         llvm::ArrayRef<mlir::Value> starts,
                         mlir::Value element);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_ELEMENTPLACES_H
