//===- StepTrace.cpp - The measured timeline of a run ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/StepTrace.h"

#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/telemetry/TraceFile.h"
#include "runtime/train/RankAgreement.h"

#include <algorithm>
#include <unistd.h>

using namespace hocket;

static constexpr size_t spanLimit = size_t(1) << 18;

StepTrace::StepTrace(Executor &executor)
    : executor(executor), streams(std::max(1u, executor.role().streams())) {}

StepTrace::~StepTrace() { executor.setListener(nullptr); }

StatusOr<std::unique_ptr<StepTrace>> StepTrace::create(Executor &executor) {
  std::unique_ptr<StepTrace> trace(new StepTrace(executor));
  HOCKET_RETURN_IF_ERROR(executor.communicators().world().barrier());
  trace->origin = std::chrono::steady_clock::now();
  executor.setListener(trace.get());
  return trace;
}

void StepTrace::ran(InstructionPlace place, const RunContext &context,
                    Time begin, Time end) {
  const program::Instruction &instruction =
      executor.role()
          .sequences(int(place.sequence))
          .instructions(int(place.instruction));
  std::vector<Span> &spans = streams[instruction.stream()];
  if (spans.size() < spanLimit)
    spans.push_back({place, context.microbatch, context.step, begin, end});
}

static const char *categoryOf(const program::Instruction &instruction) {
  if (instruction.has_collective() || instruction.has_transfer())
    return "communication";
  return instruction.has_host() ? "host" : "compute";
}

/// Instructions, and on stream 0 around them the runs of sequences.
std::string StepTrace::events() const {
  const program::Role &role = executor.role();
  auto micros = [&](Time time) {
    return std::chrono::duration<double, std::micro>(time - origin).count();
  };
  std::vector<TraceSpan> result;
  for (uint32_t stream = 0; stream < streams.size(); ++stream) {
    const Span *last = nullptr;
    size_t run = 0; // The open run's index in `result`.
    for (const Span &span : streams[stream]) {
      const program::Sequence &sequence =
          role.sequences(int(span.place.sequence));
      const program::Instruction &instruction =
          sequence.instructions(int(span.place.instruction));
      std::map<std::string, std::string> arguments = {
          {"step", std::to_string(span.step + 1)},
          {"microbatch", std::to_string(span.microbatch)}};
      bool continues = last && last->place.sequence == span.place.sequence &&
                       last->microbatch == span.microbatch &&
                       last->step == span.step &&
                       last->place.instruction < span.place.instruction;
      if (stream == 0 && !continues) {
        run = result.size();
        result.push_back({stream, sequence.name(), "sequence",
                          micros(span.begin), 0, arguments});
      }
      last = &span;
      if (stream == 0)
        result[run].micros = micros(span.end) - result[run].beginMicros;
      std::string text = instructionText(instruction, executor.program());
      arguments["instruction"] = text;
      arguments["sequence"] = sequence.name();
      if (!instruction.source().empty())
        arguments["source"] = instruction.source();
      result.push_back({stream, text.substr(0, text.find(' ')),
                        categoryOf(instruction), micros(span.begin),
                        micros(span.end) - micros(span.begin), arguments});
    }
  }
  return traceEvents(
      executor.rank(),
      formatText("rank %u (%s)", executor.rank(), role.name().c_str()), result);
}

std::string StepTrace::ownPath(const std::string &path, unsigned rank) const {
  return path + ".rank" + std::to_string(rank);
}

Status StepTrace::write(const std::string &path) {
  comm::Communicator &world = executor.communicators().world();
  comm::PatientScope patient(executor.communicators().activity(),
                             "writing the trace");
  std::string own = ownPath(path, world.rank());
  HOCKET_RETURN_IF_ERROR(agree(world, writeFileAtomically(own, events())));
  Status status;
  if (world.rank() == 0) {
    std::vector<std::string> all;
    for (unsigned rank = 0; rank < world.size() && status.ok(); ++rank) {
      auto text = readFile(ownPath(path, rank), uint64_t(1) << 34);
      status = text.status();
      if (text.ok())
        all.push_back(*std::move(text));
    }
    if (status.ok())
      status = writeFileAtomically(path, traceText(all));
  }
  status = agree(world, status);
  ::unlink(own.c_str());
  return status;
}
