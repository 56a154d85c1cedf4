//===- IssueOrder.cpp - May a GPU do one message after the other? ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/IssueOrder.h"

#include "runtime/program/certificate/Exchange.h"

#include <algorithm>
#include <set>

using namespace hocket;

bool hocket::endsInIssueOrder(const program::Program &program) {
  RankClasses classes(program);
  for (const ProgramEntry &entry : programEntriesOf(program)) {
    EntryView view{program, classes, entry};
    FaultList faults(1);
    Partners partners = matchTransfers(view, faults);
    checkProgress(view, partners, faults, OneByOne::Ranks);
    if (faults.count() > 0)
      return false;
  }
  return true;
}

unsigned hocket::streamsThatCommunicate(const program::Program &program) {
  size_t most = 0;
  for (const program::Role &role : program.roles()) {
    std::set<uint32_t> streams;
    for (const program::Sequence &sequence : role.sequences())
      for (const program::Instruction &instruction : sequence.instructions())
        if (instruction.has_collective() || instruction.has_transfer())
          streams.insert(instruction.stream());
    most = std::max(most, streams.size());
  }
  return unsigned(most);
}
