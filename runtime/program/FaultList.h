//===- FaultList.h - Faults found by the program's checks -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shared by the Check*.cpp files beside it; not for other folders.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_FAULTLIST_H
#define HOCKET_RUNTIME_PROGRAM_FAULTLIST_H

#include "runtime/program/program.pb.h"

#include <string>
#include <vector>

namespace hocket {

/// Collects reasons up to a limit; later ones are only counted.
class FaultList {
public:
  explicit FaultList(size_t limit) : limit(limit) {}

  void add(const std::string &place, const std::string &what) {
    if (found.size() < limit)
      found.push_back(place.empty() ? what : place + ": " + what);
    ++total;
  }

  size_t count() const { return total; }
  bool full() const { return found.size() >= limit; }
  std::vector<std::string> take() { return std::move(found); }

private:
  size_t limit;
  size_t total = 0;
  std::vector<std::string> found;
};

/// Names a role, a sequence or an instruction; text is made only when a fault
/// needs it.
struct ProgramPlace {
  const program::Program &program;
  int role = -1, sequence = -1, instruction = -1;

  std::string text() const;
};

/// What is not inside a role: version, mesh, batch sizes, schedule,
/// parameters, modules and kernels.
void checkTables(const program::Program &program, FaultList &faults);

/// Memory plan and buffers: alignment, sizes, ranges.
void checkBuffers(const program::Program &program, int role, FaultList &faults);

/// The table of groups.
void checkGroups(const program::Program &program, FaultList &faults);

/// Collectives, transfers, pieces of host inputs and places in groups. Wants
/// sound groups and operands that exist.
void checkCommunication(const program::Program &program, int role,
                        FaultList &faults);

/// Operands of every instruction. Wants sound buffers.
void checkInstructions(const program::Program &program, int role,
                       FaultList &faults);

/// Lifetimes against each other and against uses. Wants sound operands.
void checkLifetimes(const program::Program &program, int role,
                    FaultList &faults);

/// Entries, and reads of what nothing has written. Wants sound operands.
void checkEntries(const program::Program &program, int role, FaultList &faults);

/// Slices of the parameters, over all roles. Wants sound buffers.
void checkSlices(const program::Program &program, FaultList &faults);

/// Ranks, and peaks of the certificate, over all roles.
void checkRanks(const program::Program &program, FaultList &faults);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_FAULTLIST_H
