//===- FaultList.h - Faults found by the program's checks -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shared by the checks of check/ and certificate/; not for other folders.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_FAULTLIST_H
#define HOCKET_RUNTIME_PROGRAM_FAULTLIST_H

#include "runtime/program/ProgramRules.h"
#include "runtime/program/program.pb.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// Collects faults up to a limit, and of one rule no more than a fifth of it,
/// so that one that is broken everywhere leaves room for others; further ones
/// are only counted.
class FaultList {
public:
  explicit FaultList(size_t limit)
      : limit(limit), share(std::max<size_t>(limit / 5, 1)) {}

  void add(ProgramRule rule, const std::string &place,
           const std::string &what) {
    if (found.size() < limit && ++ofRule[rule] <= share)
      found.push_back({rule, place, what});
    ++total;
    structural += isStructural(rule);
  }

  size_t count() const { return total; }
  /// Whether all that is named exists and is of its size, so that the program
  /// can be walked.
  bool canBeWalked() const { return structural == 0; }
  bool full() const { return found.size() >= limit; }
  /// The faults; the last of each rule says how many more there are of it.
  std::vector<ProgramFault> take() {
    for (auto fault = found.rbegin(); fault != found.rend(); ++fault)
      if (size_t &count = ofRule[fault->rule]; count > share) {
        fault->what +=
            " (and " + std::to_string(count - share) + " more like this)";
        count = 0;
      }
    return std::move(found);
  }

private:
  static bool isStructural(ProgramRule rule) {
    return rule != ProgramRule::Lifetimes && rule != ProgramRule::Peak &&
           rule < ProgramRule::ReadsWritten;
  }

  size_t limit, share;
  size_t total = 0, structural = 0;
  std::map<ProgramRule, size_t> ofRule; ///< While there was room.
  std::vector<ProgramFault> found;
};

/// Names a role with its ranks, or one rank of it, a sequence or an
/// instruction; text is made only when a fault needs it.
struct ProgramPlace {
  const program::Program &program;
  int role = -1, sequence = -1, instruction = -1;
  int rank = -1; ///< -1: all ranks of the role.

  std::string text() const;
};

/// Calls `visit(place, instruction)` for every instruction of a role, in their
/// order, until the list of faults is full.
template <typename Visit>
void forEachInstruction(const program::Program &program, int role,
                        const FaultList &faults, Visit &&visit) {
  ProgramPlace place{program, role};
  for (const program::Sequence &sequence : program.roles(role).sequences()) {
    ++place.sequence;
    place.instruction = -1;
    for (const program::Instruction &instruction : sequence.instructions()) {
      if (faults.full())
        return;
      ++place.instruction;
      visit(place, instruction);
    }
  }
}

/// What is not inside a role: version, mesh, batch sizes, schedule and
/// parameters.
void checkTables(const program::Program &program, FaultList &faults);

/// Modules and kernels: their code's form, their tasks and operands.
void checkKernels(const program::Program &program, FaultList &faults);

/// What explains the program to people: texts and axes that exist.
void checkExplanation(const program::Program &program, FaultList &faults);

/// Memory plan and buffers: alignment, sizes, ranges.
void checkBuffers(const program::Program &program, int role, FaultList &faults);

/// The table of groups.
void checkGroups(const program::Program &program, FaultList &faults);

/// Collectives, transfers, shards of host inputs and places in groups. Wants
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

/// What instructions say of the values that they find in their operands. Wants
/// operands that exist.
void checkWriters(const program::Program &program, int role, FaultList &faults);

/// What all ranks together take in, and the vocabulary. Wants sound
/// communication.
void checkBatch(const program::Program &program, FaultList &faults);

/// Slices of the parameters, over all roles. Wants sound buffers.
void checkSlices(const program::Program &program, FaultList &faults);

/// Ranks over all roles.
void checkRanks(const program::Program &program, FaultList &faults);

/// The memory plan against the buffers. Wants sound buffers.
void checkMemoryPlan(const program::Program &program, int role,
                     FaultList &faults);

/// The peaks of the certificate. Wants sound ranks.
void checkPeaks(const program::Program &program, FaultList &faults);

/// All ranks and streams together (certificate/Certificate.h). Wants a program
/// that can be walked.
void checkCertificate(const program::Program &program, FaultList &faults);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_FAULTLIST_H
