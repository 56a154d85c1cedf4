//===- StepTrace.cpp - The measured timeline of a run ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/StepTrace.h"

#include "runtime/base/File.h"
#include "runtime/telemetry/InstructionTrace.h"
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
  // Played time has begun with the program, for all ranks.
  if (!executor.device().playsTime())
    trace->origin = executor.now(0);
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

std::string StepTrace::events() const {
  auto micros = [&](Time time) {
    return std::chrono::duration<double, std::micro>(time - origin).count();
  };
  std::vector<std::vector<TimedInstruction>> timed(streams.size());
  for (size_t stream = 0; stream < streams.size(); ++stream)
    for (const Span &span : streams[stream])
      timed[stream].push_back({span.place.sequence, span.place.instruction,
                               span.microbatch, span.step, micros(span.begin),
                               micros(span.end)});
  return traceEvents(
      executor.rank(), traceRankName(executor.rank(), executor.role()),
      instructionSpans(executor.program(), executor.role(), timed));
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
