//===- Pipelines.h - The order of passes ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The only place that knows which pass follows which. A level's pipeline
/// takes a module of the level above (for `xf`: what a front end built) and
/// leaves one of its own.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_PIPELINES_PIPELINES_H
#define HOCKET_COMPILER_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <optional>
#include <string>
#include <vector>

namespace hocket {

enum class Level { Xf, Dist, Pipe, Kern, Exec, Program };

/// Every level by name, in order: "xf", "dist", "pipe", "kern", "exec",
/// "program".
std::optional<Level> parseLevel(llvm::StringRef name);
llvm::StringRef levelName(Level level);

/// What is asked for beside the module, which holds its plan itself.
struct PipelineOptions {
  std::string fusionReport;   ///< file; empty: none
  std::string target = "cpu"; ///< or "cuda"
  /// How the GPUs that the program is for take 8-bit operands: the option of
  /// kern-fit-f8-gemms.
  std::string f8Layouts = "inner-fastest";
  bool invariantGemms = false;    ///< kern-invariant-gemms, of cuda
  bool jointAttention = false;    ///< kern-joint-attention, of cuda
  bool fuse = true;               ///< off: every op is its own kernel
  int64_t leastPart = 128;        ///< of convert-xf-to-dist
  int64_t leastSummedRows = 8192; ///< of kern-fuse-sums, of cuda
  /// Of pipe-recompute, by pipeline rank.
  std::vector<int64_t> recomputeFixed, recomputeLeast;
};

/// Adds the passes that lead from the level before to `level`; none for
/// `program`, which an emitter writes.
void addLevelPasses(mlir::OpPassManager &manager, Level level,
                    const PipelineOptions &options);

/// Adds the verifier that `level` ends in; none for `program`.
void addLevelVerifier(mlir::OpPassManager &manager, Level level);

/// Those of the pipe level in two halves: up to where each pipeline rank has
/// fragments of its own, and from what they keep and compute again.
void addStagePasses(mlir::OpPassManager &manager);
void addFragmentPasses(mlir::OpPassManager &manager,
                       const PipelineOptions &options);

/// Registers `hocket-to-LEVEL` for hocket-opt: everything from a front end's
/// module to that level.
void registerPipelines();

} // namespace hocket

#endif // HOCKET_COMPILER_PIPELINES_PIPELINES_H
