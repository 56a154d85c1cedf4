//===- MemoryTrace.cpp - Memory beside a timeline -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/MemoryTrace.h"

using namespace hocket;

/// Moments of a step that are written; a screen has not more columns.
static constexpr size_t memoryPoints = 1000;

std::vector<TraceMemory> hocket::memoryTrace(const program::Program &program,
                                             uint32_t role,
                                             const std::string &entry,
                                             std::vector<PredictedSpan> spans) {
  std::vector<TraceMemory> moments;
  for (const program::Entry &known : program.roles(int(role)).entries()) {
    if (known.name() != entry)
      continue;
    MemoryUse use =
        predictMemory(program, role, known, std::move(spans), memoryPoints);
    for (size_t i = 0; i < use.times.size(); ++i) {
      TraceMemory &moment = moments.emplace_back();
      moment.micros = use.times[i] * 1e6;
      for (size_t kind = 0; kind < use.kinds.size(); ++kind)
        moment.bytes[use.kinds[kind]] = use.bytes[i][kind];
    }
    break;
  }
  return moments;
}
