//===- RoleMemory.h - What each role's arena holds --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_ROLEMEMORY_H
#define HOCKET_COMPILER_DRIVER_ROLEMEMORY_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// The memory of the ranks that share a role.
struct RoleMemory {
  std::vector<int64_t> ranks;
  int64_t arena = 0; ///< Bytes that the runtime allocates.
  /// Bytes by kind ("optimizer", "activations", ...) where most live at once,
  /// the most first.
  std::vector<std::pair<std::string, int64_t>> atPeak;
  /// The fewest bytes that live while all residuals do.
  int64_t withResiduals = 0;
};

/// Of every role of a module of the exec level, by pipeline rank.
std::vector<RoleMemory> measureMemory(mlir::ModuleOp module);

/// "optimizer 3.10 GiB, activations 1.20 GiB, parameters 800.0 MiB": the
/// largest few.
std::string ownersText(const RoleMemory &memory);

/// "rank 3", "ranks 2 and 3", "ranks 4 to 7", "rank 5 and 3 more".
std::string ranksText(const std::vector<int64_t> &ranks);

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_ROLEMEMORY_H
