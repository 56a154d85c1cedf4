//===- IssueOrder.cpp - May all be one after the other? -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/IssueOrder.h"

#include "runtime/program/certificate/Exchange.h"

using namespace hocket;

/// What the program communicates, by stream 0 alone. Its code stays behind.
static program::Program onOneStream(const program::Program &program) {
  program::Program result;
  *result.mutable_groups() = program.groups();
  *result.mutable_roles() = program.roles();
  for (program::Role &role : *result.mutable_roles())
    for (program::Sequence &sequence : *role.mutable_sequences())
      for (program::Instruction &instruction : *sequence.mutable_instructions())
        instruction.set_stream(0);
  return result;
}

bool hocket::endsInIssueOrder(const program::Program &program) {
  program::Program serial = onOneStream(program);
  RankClasses classes(serial);
  for (const ProgramEntry &entry : entriesOf(serial)) {
    EntryView view{serial, classes, entry};
    FaultList faults(1);
    Partners partners = matchTransfers(view, faults);
    // Collectives of a group that had two streams have one order now.
    checkCollectiveOrder(view, faults);
    if (faults.count() == 0)
      checkProgress(view, partners, faults);
    if (faults.count() > 0)
      return false;
  }
  return true;
}
