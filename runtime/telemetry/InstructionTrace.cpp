//===- InstructionTrace.cpp - Instructions as trace spans -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/InstructionTrace.h"

#include "runtime/base/Format.h"
#include "runtime/program/InstructionOperands.h"

using namespace hocket;

const char *hocket::traceCategory(const program::Instruction &instruction) {
  if (instruction.has_collective() || instruction.has_transfer())
    return "communication";
  return instruction.has_host() ? "host" : "compute";
}

std::string hocket::traceRankName(unsigned rank, const program::Role &role) {
  return formatText("rank %u (%s)", rank, role.name().c_str());
}

/// Whether `next` belongs to the same run of a sequence as `last`.
static bool continuesRun(const TimedInstruction &last,
                         const TimedInstruction &next) {
  return last.sequence == next.sequence && last.microbatch == next.microbatch &&
         last.step == next.step && last.instruction < next.instruction;
}

std::vector<TraceSpan> hocket::instructionSpans(
    const program::Program &program, const program::Role &role,
    const std::vector<std::vector<TimedInstruction>> &streams,
    TraceDetail detail) {
  std::vector<TraceSpan> result;
  for (uint32_t stream = 0; stream < streams.size(); ++stream) {
    const TimedInstruction *last = nullptr;
    size_t run = 0; // The open run's index in `result`.
    for (const TimedInstruction &timed : streams[stream]) {
      const program::Sequence &sequence = role.sequences(int(timed.sequence));
      const program::Instruction &instruction =
          sequence.instructions(int(timed.instruction));
      std::map<std::string, std::string> arguments = {
          {"step", std::to_string(timed.step + 1)},
          {"microbatch", std::to_string(timed.microbatch)}};
      if (stream == 0 && !(last && continuesRun(*last, timed))) {
        run = result.size();
        result.push_back({stream, sequence.name(), "sequence",
                          timed.beginMicros, 0, arguments});
      }
      last = &timed;
      if (stream == 0)
        result[run].micros = timed.endMicros - result[run].beginMicros;
      if (stream == 0 && detail == TraceDetail::Sequences)
        continue;
      std::string text = instructionText(instruction, program);
      arguments["instruction"] = text;
      arguments["sequence"] = sequence.name();
      if (!instruction.source().empty())
        arguments["source"] = instruction.source();
      result.push_back({stream, text.substr(0, text.find(' ')),
                        traceCategory(instruction), timed.beginMicros,
                        timed.endMicros - timed.beginMicros, arguments});
    }
  }
  return result;
}
