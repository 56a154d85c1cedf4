//===- ArenaLayout.cpp - Offsets in the arena -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Variables stand first, in their order; the values of the step share what
// follows, as the planner places them.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"
#include "passes/planning/ArenaPlan.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;

/// Of every buffer: enough for any vector load and for cache lines in pairs.
static constexpr int64_t bufferAlignment = 256;
/// Of the arena: a page.
static constexpr int64_t arenaAlignment = 4096;

/// The positions that residuals live through when several microbatches are in
/// flight: all of forward and backward.
static std::pair<int64_t, int64_t> flightOf(const FlatProgram &program) {
  int64_t position = 0, first = -1, last = 0;
  for (const FlatSequence &sequence : program.sequences) {
    int64_t end = position + sequence.instructions.size();
    if (sequence.fragment == 'F' || sequence.fragment == 'B') {
      first = first < 0 ? position : first;
      last = end - 1;
    }
    position = end;
  }
  return {first, last};
}

LogicalResult hocket::kerntoexec::layOut(FlatProgram &program) {
  int64_t variableBytes = 0;
  planning::ArenaProblem problem;
  problem.alignment = bufferAlignment;
  std::vector<int> planned;
  auto [flightFirst, flightLast] = flightOf(program);
  for (auto [i, buffer] : llvm::enumerate(program.buffers)) {
    if (buffer.mergedInto >= 0)
      continue;
    if (buffer.bytes < 0)
      return program.module.emitError("buffer ")
             << buffer.name << " of type " << buffer.type
             << " is larger than 2^63 bytes";
    int64_t bytes = llvm::alignTo(buffer.bytes, bufferAlignment);
    if (buffer.persistent()) {
      buffer.offset = variableBytes;
      if (__builtin_add_overflow(variableBytes, bytes, &variableBytes))
        return program.module.emitError("the variables are larger than 2^63 "
                                        "bytes together");
      continue;
    }
    if (buffer.first < 0)
      continue; // nothing uses it
    if (buffer.isResidual && program.slots > 1) {
      buffer.first = flightFirst;
      buffer.last = flightLast;
      bytes *= program.slots;
    }
    planned.push_back(static_cast<int>(i));
    problem.buffers.push_back({buffer.first, buffer.last + 1, bytes});
  }
  planning::ArenaPlan plan = planning::planArena(problem);
  for (auto [i, offset] : llvm::zip(planned, plan.offsets))
    program.buffers[i].offset = variableBytes + offset;
  program.arenaBytes = llvm::alignTo(variableBytes + plan.peak, arenaAlignment);
  program.lowerBound = llvm::alignTo(
      variableBytes + planning::arenaLowerBound(problem), arenaAlignment);
  return success();
}
