//===- StepMoments.cpp - When a step's gradients are complete -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/StepMoments.h"

#include "base/BatchSizes.h"
#include "passes/exec/Instructions.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

StepMoments::StepMoments(RoleOp role) {
  for (auto entry : role.getOps<EntryOp>())
    if (isTrainEntry(entry.getName()))
      steps.push_back(runsOf(entry));
}

static bool isBackward(SequenceOp sequence) {
  return sequence.isFragment(FragmentKind::Backward) ||
         sequence.isFragment(FragmentKind::Weight);
}

/// The last of `runs` that is backward and has a writer.
static std::optional<Moment>
lastOf(const std::vector<EntryRun> &runs,
       const llvm::DenseMap<Operation *, Operation *> &writers) {
  for (size_t run = runs.size(); run-- > 0;) {
    SequenceOp sequence = runs[run].sequence;
    Operation *writer = writers.lookup(sequence);
    if (!writer || !isBackward(sequence))
      continue;
    Block &block = sequence.getBody().front();
    auto index = std::distance(block.begin(), writer->getIterator());
    return Moment{run, static_cast<size_t>(index), 0, sequence};
  }
  return std::nullopt;
}

std::optional<Moment> StepMoments::lastWrite(Value gradient) const {
  llvm::DenseMap<Operation *, Operation *> writers; // the last, by sequence
  for (Operation *user : gradient.getUsers())
    if (isa<InstructionOpInterface>(user) && writes(user, gradient)) {
      Operation *&last = writers[user->getParentOp()];
      last = last && user->isBeforeInBlock(last) ? last : user;
    }
  std::optional<Moment> first;
  for (const std::vector<EntryRun> &runs : steps) {
    std::optional<Moment> own = lastOf(runs, writers);
    if (!first)
      first = own;
    if (!own || own->sequence != first->sequence ||
        own->instruction != first->instruction)
      return std::nullopt;
  }
  return first;
}

bool StepMoments::endsLast(SequenceOp later, SequenceOp earlier) const {
  return llvm::all_of(steps, [&](const std::vector<EntryRun> &runs) {
    for (const EntryRun &run : llvm::reverse(runs))
      if (run.sequence == later || run.sequence == earlier)
        return run.sequence == later;
    return true;
  });
}
