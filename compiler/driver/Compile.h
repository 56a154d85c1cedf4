//===- Compile.h - One compilation ------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From what a user names (a textproto, a Hugging Face folder, a `.mlir` file)
/// to a program, or to the text of a level on the way.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_COMPILE_H
#define HOCKET_COMPILER_DRIVER_COMPILE_H

#include "base/Status.h"
#include "compiler/driver/MemoryFit.h"
#include "compiler/pipelines/Pipelines.h"
#include "frontends/spec/LoadSpec.h"
#include "frontends/spec/build/BuildModel.h"
#include "runtime/program/program.pb.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace hocket {

namespace cpu {
class KernelObjects;
}

struct CompileRequest {
  /// A textproto, a folder with config.json, or a `.mlir` file.
  std::string input;
  /// `--plan` and `--set`; not for `.mlir`.
  spec::LoadOptions spec;
  /// What the program is to do; of a `.mlir` file its functions say.
  spec::Entries entries;
  /// Whether a specification that has no entries to write by is compiled
  /// without them, instead of refused.
  bool anyEntries = false;
  /// The level of which `input` (a `.mlir` file) is the result; absent: it is
  /// what a front end builds, a forward pass.
  std::optional<Level> from;
  Level to = Level::Program;
  /// cpu or cuda; empty: as the specification's cluster.device says.
  std::string target;
  /// What a program is for. cpu: instruction sets, best first ("x86-64-v4");
  /// empty: all. cuda: GPUs ("sm_90a"); which 8-bit operands are multiplied as
  /// such follows from these; empty: any that multiplies some.
  std::vector<std::string> architectures;
  bool emitCuda = false;    ///< instead of a program, its kernels as CUDA C++
  std::string dumpPhases;   ///< folder for numbered files; empty: none
  std::string fusionReport; ///< file for the fusion report; empty: none
  bool fuse = true;
  /// cuda: forward GEMMs whose bits do not depend on their number of rows.
  bool invariantGemms = false;
  /// cuda: one kernel for all gradients of attention, where there is one.
  bool jointAttention = false;
  /// The fewest positions of a part of a sequence that documents, and ranks,
  /// share; for tests, whose sequences are short.
  int64_t leastPart = PipelineOptions().leastPart;
  /// cuda: the fewest rows that a kernel of rows sums; for tests, too.
  int64_t leastSummedRows = PipelineOptions().leastSummedRows;
  /// For who compiles many programs: kernels for CPUs that they share.
  std::shared_ptr<cpu::KernelObjects> kernelObjects;
  /// Whether modules are verified after every pass, or once a level. Absent:
  /// after every pass where the input may be to blame, a `.mlir` file or one of
  /// shardings, and where phases are dumped.
  std::optional<bool> verifyEach;
  /// A program that does not fit its devices is still written.
  bool anyMemory = false;
  /// Told what a laid out program takes, whether to go on; absent: it does.
  /// Where it does not, the result has no program and no text.
  std::function<bool(const std::vector<RoleMemory> &)> goesOn;
};

/// Of a plan's `shardings`, what was chosen for and what was kept.
struct ShardingsNote {
  int64_t parameters = 0, ops = 0;
  int64_t keptOps = 0; ///< The others became ops of other kinds.
};

struct CompileResult {
  program::Program program; ///< where `to` is Program
  /// The module, where `to` is a level before Program; CUDA C++ where that is
  /// asked for.
  std::string text;
  std::string libraryText; ///< beside it: the kernels of library ops
  /// By pipeline rank, where the program was laid out.
  std::vector<RoleMemory> memory;
  std::vector<RecomputeNote> recompute;   ///< empty: the pass did nothing
  int64_t memoryBudget = 0;               ///< cluster.memory_bytes; 0: none
  std::optional<ShardingsNote> shardings; ///< of a plan that names some
};

/// What a request's executable runs on: its `target`, or, where that is empty,
/// what the specification's cluster.device says; cpu where neither says. A
/// `.mlir` file is not looked into: where no target is asked for, `compile`
/// refuses one whose specification is for CUDA (S19).
StatusOr<std::string> targetOf(const CompileRequest &request);

/// InvalidArgument, DataLoss and NotFound are the input's fault; messages name
/// file, line and column where the input has them.
StatusOr<CompileResult> compile(const CompileRequest &request);

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_COMPILE_H
