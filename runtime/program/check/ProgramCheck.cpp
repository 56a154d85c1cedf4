//===- ProgramCheck.cpp - Is this program sound? --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/check/ProgramCheck.h"

#include "base/Format.h"
#include "runtime/program/FaultList.h"

using namespace hocket;

/// "ranks 0 to 7, role 0 'role0'".
static std::string roleText(const program::Role &role, int index, int rank) {
  std::string text;
  if (rank >= 0)
    text = formatText("rank %d, ", rank);
  else if (role.ranks_size() == 1)
    text = formatText("rank %u, ", role.ranks(0));
  else if (role.ranks_size() > 1)
    text =
        formatText("%d ranks from %u on, ", role.ranks_size(), role.ranks(0));
  return text + formatText("role %d '%s'", index, role.name().c_str());
}

std::string ProgramPlace::text() const {
  const program::Role &r = program.roles(role);
  std::string text = roleText(r, role, rank);
  if (sequence < 0)
    return text;
  const program::Sequence &s = r.sequences(sequence);
  text += formatText(", sequence %d '%s'", sequence, s.name().c_str());
  if (instruction < 0)
    return text;
  text += formatText(", instruction %d", instruction);
  const std::string &source = s.instructions(instruction).source();
  return source.empty() ? text : text + " (" + source + ")";
}

/// The checks of one role, each of which relies on those before it.
static void checkRole(const program::Program &program, int role,
                      FaultList &faults) {
  size_t before = faults.count();
  checkBuffers(program, role, faults);
  checkInstructions(program, role, faults);
  if (faults.count() > before)
    return;
  checkCommunication(program, role, faults);
  checkLifetimes(program, role, faults);
  checkEntries(program, role, faults);
  checkWriters(program, role, faults);
  checkMemoryPlan(program, role, faults);
}

std::vector<ProgramFault>
hocket::findProgramFaults(const program::Program &program, size_t limit) {
  FaultList faults(limit);
  checkTables(program, faults);
  checkKernels(program, faults);
  checkRanks(program, faults);
  checkGroups(program, faults);
  checkExplanation(program, faults);
  for (int role = 0; role < program.roles_size() && !faults.full(); ++role)
    checkRole(program, role, faults);
  if (faults.canBeWalked())
    checkBatch(program, faults);
  checkSlices(program, faults);
  checkPeaks(program, faults);
  if (faults.canBeWalked() && !faults.full())
    checkCertificate(program, faults);
  return faults.take();
}

Status hocket::checkProgram(const program::Program &program) {
  std::vector<ProgramFault> faults = findProgramFaults(program, 1);
  return faults.empty() ? okStatus() : dataLoss(faults.front().text());
}
