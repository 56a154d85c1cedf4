//===- Certificate.h - That all ranks end every entry -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What no rank can see by itself, proved from the file (docs/certificate.md):
///
///   V50-V52  every send meets one receive, whatever the streams' speeds;
///   V53      the members of a group issue the same collectives in one order;
///   V54      the wait-for graph over ranks and streams has no cycle;
///   V55, V56 events order all that touches the same bytes.
///
/// Each step is done once for a role, or for ranks that nothing tells apart
/// (RankClasses.h), not once for a rank.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CERTIFICATE_CERTIFICATE_H
#define HOCKET_RUNTIME_PROGRAM_CERTIFICATE_CERTIFICATE_H

#include "runtime/program/program.pb.h"

#include <map>
#include <string>
#include <vector>

namespace hocket {

/// What one entry exchanges, over all ranks.
struct EntrySummary {
  std::string name;
  uint64_t messages = 0, messageBytes = 0; ///< Matched sends.
  /// By the name of the group: calls (a list's members together count as one)
  /// and bytes that members give.
  struct Collectives {
    uint64_t calls = 0, bytes = 0;
  };
  std::map<std::string, Collectives> collectives;
  /// The longest chain of instructions that wait for each other, over all
  /// ranks, and the most instructions of a rank.
  uint64_t chain = 0, instructions = 0;
};

/// Wants a program that passed checkProgram().
std::vector<EntrySummary> summarizeEntries(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CERTIFICATE_CERTIFICATE_H
