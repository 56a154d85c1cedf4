//===- EntrySteps.h - What orders a rank's instructions ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An entry of a role, run by run, reduced to what other streams or ranks
/// notice: communication, events, and whatever runs beside stream 0.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ENTRYSTEPS_H
#define HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ENTRYSTEPS_H

#include "runtime/program/program.pb.h"

#include <map>
#include <string>
#include <vector>

namespace hocket {

struct EntryStep {
  enum class Kind : uint8_t { Local, Collective, Transfer, Record, Wait };
  static constexpr uint32_t none = ~0u;

  uint32_t sequence = 0, instruction = 0;
  uint32_t run = 0; ///< Index into the entry's runs.
  uint32_t microbatch = 0;
  uint32_t stream = 0;
  Kind kind = Kind::Local;
  /// Of a wait, the record that it waits for: the last one issued before it.
  /// Of a collective, how many came before it in its group and stream. Of a
  /// transfer, how many parts of transfers came before it.
  uint32_t link = none;
  uint32_t work = 0; ///< Other instructions of stream 0 just before it.
};

/// One of the two ends of a message, as a role names it.
struct ChannelEnd {
  uint32_t group = 0;
  bool send = false, relative = false;
  uint32_t peer = 0, tag = 0;
  auto operator<=>(const ChannelEnd &) const = default;
};

struct ChannelUse {
  uint32_t step = 0, part = 0;
};

struct GroupStream {
  uint32_t group = 0, stream = 0;
  auto operator<=>(const GroupStream &) const = default;
};

/// In the order in which a rank issues them.
struct RoleSteps {
  std::vector<EntryStep> steps;
  std::vector<std::vector<uint32_t>> byStream; ///< Steps; one list a stream.
  uint32_t workAfter = 0; ///< Instructions of stream 0 behind the last step.
  uint64_t instructions = 0;
  uint32_t parts = 0; ///< Of all transfers.
  /// By part, the last step before it with messages of its group and tag.
  std::vector<uint32_t> messageBefore;
  std::map<ChannelEnd, std::vector<ChannelUse>> channels;
  std::map<GroupStream, std::vector<uint32_t>> collectives; ///< Steps.
};

/// One entry of the program: by role, what its ranks do; nothing where a role
/// has no entry of the name. Wants sound instructions and entries.
struct ProgramEntry {
  std::string name;
  std::vector<RoleSteps> roles;
};

std::vector<ProgramEntry> programEntriesOf(const program::Program &program);

/// The instruction of a step.
inline const program::Instruction &instructionOf(const program::Role &role,
                                                 const EntryStep &step) {
  return role.sequences(int(step.sequence)).instructions(int(step.instruction));
}

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ENTRYSTEPS_H
