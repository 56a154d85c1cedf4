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
#include "passes/planning/memory/MemoryPlan.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;

/// Of every buffer: enough for any vector load and for cache lines in pairs.
static constexpr int64_t bufferAlignment = 256;
/// Of the arena: a page.
static constexpr int64_t arenaAlignment = 4096;
/// Of the planner's search, where first fit is not at the lower bound: a
/// fraction of a second.
static constexpr int64_t searchSteps = 50'000'000;

namespace {
/// A range of positions, ends included.
struct Span {
  int64_t first = -1, last = -1;
};
} // namespace

/// The positions of all sequences of the given kinds.
static Span spanOf(const FlatProgram &program, StringRef fragments) {
  Span span;
  int64_t position = 0;
  for (const FlatSequence &sequence : program.sequences) {
    int64_t end = position + sequence.instructions.size();
    if (fragments.contains(sequence.fragment) && end > position) {
      span.first = span.first < 0 ? position : span.first;
      span.last = end - 1;
    }
    position = end;
  }
  return span;
}

/// Whether a fragment of another microbatch runs while the only copy of a
/// residual of a rank's one stage is kept: a W before its B, or an F before its
/// W. These stand outside the positions of what is kept.
static bool isInterrupted(const FlatProgram &program,
                          const FlatBuffer &buffer) {
  Span backward = spanOf(program, "B"), weight = spanOf(program, "W");
  return llvm::any_of(program.role.copies, [&](const auto &stage) {
    return (stage.second.weightsBetween && buffer.last < weight.first) ||
           (stage.second.forwardsBetween && weight.first >= 0 &&
            buffer.first >= backward.first);
  });
}

/// Where microbatches overlap, what lives in one slot meets any instruction of
/// forward and backward: of other microbatches, or, for what crosses between
/// stages, while it is on its way.
static void widenLifetimes(FlatProgram &program) {
  Span flight = spanOf(program, "FBW"), evaluation = spanOf(program, "E");
  Span update = spanOf(program, "U");
  int stages = llvm::count_if(program.sequences, [](const FlatSequence &s) {
    return s.fragment == 'F';
  });
  for (FlatBuffer &buffer : program.buffers) {
    bool overlaps =
        buffer.copies > 1 || (stages > 1 && program.microbatches > 1);
    if (buffer.persistent() || buffer.first < 0)
      continue;
    if (buffer.isBucketed) {
      // In flight from the last backward to the update.
      buffer.last = std::max(buffer.last, update.first);
      if (stages > 1 && program.microbatches > 1)
        buffer.first = std::min(buffer.first, flight.first);
      continue;
    }
    if (!(buffer.isLink ||
          (buffer.isResidual && (overlaps || isInterrupted(program, buffer)))))
      continue;
    bool evaluates = buffer.first >= evaluation.first && evaluation.first >= 0;
    buffer.first = evaluates ? evaluation.first : flight.first;
    buffer.last = evaluates ? evaluation.last : flight.last;
  }
}

LogicalResult hocket::kerntoexec::layOut(FlatProgram &program) {
  int64_t variableBytes = 0;
  planning::MemoryProblem problem;
  std::vector<int> planned;
  widenLifetimes(program);
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
    if (buffer.first < 0 || buffer.within >= 0)
      continue; // nothing uses it, or it stands in another one's bytes
    if (__builtin_mul_overflow(bytes, buffer.copies, &bytes))
      return program.module.emitError("the copies of buffer ")
             << buffer.name << " are larger than 2^63 bytes together";
    planned.push_back(static_cast<int>(i));
    problem.buffers.push_back(
        {buffer.first, buffer.last + 1, bytes, bufferAlignment});
  }
  planning::MemoryOptions options;
  options.steps = searchSteps;
  auto plan = planning::planMemory(problem, options);
  if (!plan.ok())
    return program.module.emitError(plan.status().message());
  for (auto [i, offset] : llvm::zip(planned, plan->offsets))
    program.buffers[i].offset = variableBytes + offset;
  for (FlatBuffer &buffer : program.buffers)
    if (buffer.within >= 0)
      buffer.offset += program.buffers[buffer.within].offset;
  planning::MemoryArena arena;
  for (const auto &[name, only] : plan->arenas)
    arena = only;
  program.arenaBytes =
      llvm::alignTo(variableBytes + arena.peak, arenaAlignment);
  program.lowerBound =
      llvm::alignTo(variableBytes + arena.lowerBound, arenaAlignment);
  return success();
}
