//===- ProgramCheck.cpp - Is this program sound? --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ProgramCheck.h"

#include "runtime/base/Format.h"
#include "runtime/program/FaultList.h"

using namespace hocket;

std::string ProgramPlace::text() const {
  const program::Role &r = program.roles(role);
  std::string text = formatText("role %d '%s'", role, r.name().c_str());
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
}

std::vector<std::string>
hocket::findProgramFaults(const program::Program &program, size_t limit) {
  FaultList faults(limit);
  checkTables(program, faults);
  checkRanks(program, faults);
  checkGroups(program, faults);
  for (int role = 0; role < program.roles_size() && !faults.full(); ++role)
    checkRole(program, role, faults);
  checkSlices(program, faults);
  return faults.take();
}

Status hocket::checkProgram(const program::Program &program) {
  std::vector<std::string> faults = findProgramFaults(program, 1);
  return faults.empty() ? okStatus() : dataLoss(faults.front());
}
