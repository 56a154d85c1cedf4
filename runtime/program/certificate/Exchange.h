//===- Exchange.h - Who exchanges what with whom ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For the Check*.cpp files of this folder.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CERTIFICATE_EXCHANGE_H
#define HOCKET_RUNTIME_PROGRAM_CERTIFICATE_EXCHANGE_H

#include "runtime/program/FaultList.h"
#include "runtime/program/certificate/EntrySteps.h"
#include "runtime/program/certificate/RankClasses.h"

namespace hocket {

/// An entry, seen by all checks of the certificate.
struct EntryView {
  const program::Program &program;
  const RankClasses &classes;
  const ProgramEntry &entry;

  const program::Role &role(uint32_t index) const {
    return program.roles(int(index));
  }
  const RoleSteps &stepsOfRank(uint32_t rank) const {
    return entry.roles[classes.roleOfRank(rank)];
  }
  const RoleSteps &stepsOfClass(uint32_t index) const {
    return entry.roles[classes.roleOf(index)];
  }
  /// "rank 3, role 0 'role0', sequence ...", of a step.
  std::string place(uint32_t rank, uint32_t step) const;
  /// "entry 'train_step', microbatch 3".
  std::string when(uint32_t rank, uint32_t step) const;
};

/// Where a send's receive is, or a receive's send.
struct StepPartner {
  static constexpr uint32_t none = ~0u;
  uint32_t rankClass = none, step = 0;
};

/// By class and part (EntryStep::link of the transfer + the part's index).
using Partners = std::vector<std::vector<StepPartner>>;

/// V50, V51, V57. The k-th send to a peer with a tag meets the peer's k-th
/// receive, and both say of which microbatch that is. Whoever has no partner is
/// a fault.
Partners matchTransfers(const EntryView &view, FaultList &faults);

/// V52, V55, V56, of one role.
void checkStreams(const program::Program &program, int role, FaultList &faults);

/// V53.
void checkCollectiveOrder(const EntryView &view, FaultList &faults);

/// What of a rank's communication is one after the other in the order of issue,
/// whatever its streams: that of a communicator, or all of it.
enum class OneByOne : uint8_t { Communicators, Ranks };

/// V54. Wants an entry without faults of V50 to V53 and V57. Returns the
/// longest chain of instructions.
uint64_t checkProgress(const EntryView &view, const Partners &partners,
                       FaultList &faults,
                       OneByOne oneByOne = OneByOne::Communicators);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CERTIFICATE_EXCHANGE_H
