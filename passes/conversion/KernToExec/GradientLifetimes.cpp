//===- GradientLifetimes.cpp - When a gradient needs its bytes ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Over several microbatches a gradient is an accumulator and keeps its bytes
// through all of them. With one microbatch it is a value like any other, from
// the instruction that sets it to the update: while backward runs, the bytes of
// residuals that it has done with become those of gradients.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

#include "llvm/ADT/STLExtras.h"

using namespace hocket::kerntoexec;

/// With one microbatch, whatever the first run sets is overwritten.
static void dropLaterRuns(FlatProgram &program) {
  for (FlatSequence &sequence : program.sequences)
    for (FlatInstruction &instruction : sequence.instructions)
      if (instruction.accumulation == Accumulation::AddUnlessFirst)
        instruction.accumulation = Accumulation::Overwrite;
}

/// By buffer, whether the first instruction that uses it overwrites it.
static std::vector<bool> findSetFirst(const FlatProgram &program) {
  std::vector<bool> seen(program.buffers.size()), set(program.buffers.size());
  auto note = [&](int buffer, bool overwritten) {
    int root = program.find(buffer);
    if (!seen[root])
      set[root] = overwritten;
    seen[root] = true;
  };
  for (const FlatSequence &sequence : program.sequences)
    for (const FlatInstruction &instruction : sequence.instructions) {
      for (int input : instruction.inputs)
        note(input, false);
      for (int output : instruction.outputs)
        note(output, instruction.accumulation == Accumulation::Overwrite);
    }
  return set;
}

void hocket::kerntoexec::freeGradients(FlatProgram &program) {
  if (program.microbatches > 1)
    return;
  dropLaterRuns(program);
  std::vector<bool> setFirst = findSetFirst(program);
  for (auto [i, buffer] : llvm::enumerate(program.buffers))
    buffer.livesInStep =
        buffer.variable && buffer.kind == "gradients" && setFirst[i];
}
