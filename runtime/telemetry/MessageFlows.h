//===- MessageFlows.h - Arrows from sends to receives -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_MESSAGEFLOWS_H
#define HOCKET_RUNTIME_TELEMETRY_MESSAGEFLOWS_H

#include "runtime/program/program.pb.h"
#include "runtime/telemetry/TraceFile.h"

#include <functional>
#include <map>
#include <tuple>

namespace hocket {

/// Names the messages of one rank so that sender and receiver, each for itself,
/// come to the same id: by step, group, tag, both ranks, and which of these it
/// is within the step.
class MessageFlows {
public:
  /// `shows` says of which peers there are arrows; null: of all.
  MessageFlows(const program::Program &program, unsigned rank,
               std::function<bool(unsigned)> shows = nullptr)
      : program(program), rank(rank), shows(std::move(shows)) {}

  /// Of the transfers of a step, each in the order in which it came on its
  /// stream.
  std::vector<TraceFlow> of(const program::Transfer &transfer, uint64_t step);

private:
  /// Step, group, tag, sender, receiver, and which of them this rank is.
  using Key =
      std::tuple<uint64_t, uint32_t, uint32_t, uint32_t, uint32_t, bool>;

  const program::Program &program;
  unsigned rank;
  std::function<bool(unsigned)> shows;
  std::map<Key, uint64_t> counts;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_MESSAGEFLOWS_H
