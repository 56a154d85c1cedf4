//===- InstructionTrace.cpp - Instructions as trace spans -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/InstructionTrace.h"

#include "base/Format.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/telemetry/SpanNames.h"

#include <algorithm>

using namespace hocket;
using program::Instruction;

const char *hocket::traceCategory(const Instruction &instruction) {
  if (instruction.has_collective() || instruction.has_transfer())
    return "communication";
  return instruction.has_host() ? "host" : "compute";
}

/// Whether `next` belongs to the same run of a sequence as `last`.
static bool continuesRun(const TimedInstruction &last,
                         const TimedInstruction &next) {
  return last.sequence == next.sequence && last.microbatch == next.microbatch &&
         last.step == next.step && last.instruction < next.instruction;
}

namespace {

/// What the places of a role's instructions say, each looked up once.
class InstructionWords {
public:
  InstructionWords(const program::Program &program, const program::Role &role)
      : program(program), role(role), known(size_t(role.sequences_size())) {}

  const TraceSpan &of(uint32_t sequence, uint32_t instruction) {
    std::vector<TraceSpan> &spans = known[sequence];
    const program::Sequence &from = role.sequences(int(sequence));
    if (spans.empty())
      spans.resize(size_t(from.instructions_size()));
    TraceSpan &span = spans[instruction];
    if (span.name.empty())
      describe(from, from.instructions(int(instruction)), span);
    return span;
  }

private:
  void describe(const program::Sequence &sequence,
                const Instruction &instruction, TraceSpan &span) const {
    span.name = spanName(instruction, role, program);
    span.category = traceCategory(instruction);
    span.arguments = {{"instruction", instructionText(instruction, program)},
                      {"sequence", sequence.name()}};
    if (!instruction.source().empty())
      span.arguments["source"] = instruction.source();
    if (instruction.has_launch()) {
      const auto &kernel = program.kernels(int(instruction.launch().kernel()));
      if (!kernel.description().empty())
        span.arguments["kernel"] = kernel.description();
    }
    countBytes(instruction, span);
    double flops = instructionFlops(instruction, program);
    if (flops > 0)
      span.numbers["flops"] = uint64_t(flops);
  }

  uint64_t bytesOf(uint32_t buffer) const {
    return role.buffers(int(buffer)).bytes();
  }

  /// Of a message, what one rank gives or gets; else all operands.
  void countBytes(const Instruction &instruction, TraceSpan &span) const {
    uint64_t &bytes = span.numbers["bytes"];
    if (instruction.has_collective()) {
      const program::Collective &call = instruction.collective();
      bytes = std::max(bytesOf(call.from()), bytesOf(call.to()));
      for (const auto &part : call.others())
        bytes += std::max(bytesOf(part.from()), bytesOf(part.to()));
      return;
    }
    for (const InstructionOperand &operand : operandsOf(instruction, program))
      bytes += bytesOf(operand.buffer);
  }

  const program::Program &program;
  const program::Role &role;
  std::vector<std::vector<TraceSpan>> known;
};

} // namespace

RankTrace hocket::instructionTrace(
    const program::Program &program, const program::Role &role, unsigned rank,
    const std::vector<std::vector<TimedInstruction>> &streams,
    TraceDetail detail, std::function<bool(unsigned)> shows) {
  RankTrace trace;
  trace.rank = rank;
  trace.name = formatText("rank %u (%s)", rank, role.name().c_str());
  trace.streams = streamNames(program, role);
  InstructionWords words(program, role);
  MessageFlows flows(program, rank, std::move(shows));
  for (uint32_t stream = 0; stream < streams.size(); ++stream) {
    const TimedInstruction *last = nullptr;
    size_t run = 0; // The open run's index in `trace.spans`.
    for (const TimedInstruction &timed : streams[stream]) {
      const program::Sequence &sequence = role.sequences(int(timed.sequence));
      std::map<std::string, std::string> when = {
          {"step", std::to_string(timed.step + 1)},
          {"microbatch", std::to_string(timed.microbatch)}};
      if (stream == 0 && !(last && continuesRun(*last, timed))) {
        run = trace.spans.size();
        trace.spans.push_back(
            {stream, sequence.name(), "sequence", timed.beginMicros, 0, when});
      }
      last = &timed;
      if (stream == 0)
        trace.spans[run].micros =
            timed.endMicros - trace.spans[run].beginMicros;
      if (stream == 0 && detail == TraceDetail::Sequences)
        continue;
      TraceSpan span = words.of(timed.sequence, timed.instruction);
      span.stream = stream;
      span.beginMicros = timed.beginMicros;
      span.micros = timed.endMicros - timed.beginMicros;
      span.arguments.merge(when);
      const Instruction &instruction =
          sequence.instructions(int(timed.instruction));
      if (instruction.has_transfer())
        span.flows = flows.of(instruction.transfer(), timed.step);
      trace.spans.push_back(std::move(span));
    }
  }
  return trace;
}
