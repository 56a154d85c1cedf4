//===- RoleMemory.h - What each role's arena holds --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_ROLEMEMORY_H
#define HOCKET_COMPILER_DRIVER_ROLEMEMORY_H

#include "dialects/exec/IR/Exec.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// The memory of the ranks that share a role.
struct RoleMemory {
  std::vector<int64_t> ranks;
  int64_t arena = 0; ///< Bytes of the arena.
  /// Bytes that the runtime allocates on the device beside it.
  int64_t beside = 0;
  int64_t needed() const { return arena + beside; }
  /// Bytes by kind where most live at once, the most first.
  std::vector<std::pair<exec::MemoryKind, int64_t>> atPeak;
  /// The fewest bytes that live while all residuals do.
  int64_t withResiduals = 0;
};

/// Of every role of a module of the exec level, by pipeline rank.
/// `besideArena` says what its target takes beside the arena.
std::vector<RoleMemory>
measureMemory(mlir::ModuleOp module,
              llvm::function_ref<int64_t(exec::RoleOp)> besideArena = nullptr);

/// The role whose ranks need the most; null where there is none.
const RoleMemory *fullestOf(const std::vector<RoleMemory> &memory);

/// What the fullest rank needs; 0 where there is no role.
int64_t mostNeeded(const std::vector<RoleMemory> &memory);

/// "optimizer 3.10 GiB, activations 1.20 GiB, parameters 800.0 MiB": the
/// largest few.
std::string ownersText(const RoleMemory &memory);

/// "rank 3", "ranks 2 and 3", "ranks 4 to 7", "rank 5 and 3 more".
std::string ranksText(const std::vector<int64_t> &ranks);

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_ROLEMEMORY_H
