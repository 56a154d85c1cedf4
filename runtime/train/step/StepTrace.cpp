//===- StepTrace.cpp - The measured timeline of a run ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/StepTrace.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/TemporaryName.h"
#include "runtime/telemetry/InstructionTrace.h"
#include "runtime/telemetry/MemoryTrace.h"
#include "runtime/train/step/RankAgreement.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unistd.h>

using namespace hocket;

static constexpr size_t spanLimit = size_t(1) << 18;
static constexpr const char *entryName = "train_step";

StepTrace::StepTrace(Executor &executor, StepWindow window)
    : executor(executor), window(window),
      streams(std::max(1u, executor.role().streams())), isFull(streams.size()) {
}

StepTrace::~StepTrace() { executor.setListener(nullptr); }

/// When rank 0 began to count, where that is known: a machine has one steady
/// clock. Ranks of other machines begin at their own `now`.
static StatusOr<ExecutionListener::Time>
commonOrigin(comm::Communicator &world, ExecutionListener::Time now) {
  using Time = ExecutionListener::Time;
  std::string own = thisBoot() + " ", first = own;
  first += std::to_string(now.time_since_epoch().count());
  HOCKET_RETURN_IF_ERROR(broadcastText(world, first));
  Time::rep count = 0;
  if (!first.starts_with(own) ||
      std::from_chars(first.data() + own.size(), first.data() + first.size(),
                      count)
              .ec != std::errc())
    return now;
  return Time(Time::duration(count));
}

StatusOr<std::unique_ptr<StepTrace>> StepTrace::create(Executor &executor,
                                                       StepWindow window) {
  std::unique_ptr<StepTrace> trace(new StepTrace(executor, window));
  comm::Communicator &world = executor.communicators().world();
  HOCKET_RETURN_IF_ERROR(world.barrier());
  // Played time has begun with the program, for all ranks.
  if (!executor.device().playsTime()) {
    HOCKET_ASSIGN_OR_RETURN(trace->origin,
                            commonOrigin(world, executor.now(0)));
  }
  executor.setListener(trace.get());
  return trace;
}

void StepTrace::ran(InstructionPlace place, const RunContext &context,
                    Time begin, Time end) {
  if (!window.holds(context.step + 1))
    return;
  const program::Instruction &instruction =
      executor.role()
          .sequences(int(place.sequence))
          .instructions(int(place.instruction));
  std::vector<Span> &spans = streams[instruction.stream()];
  if (spans.size() < spanLimit)
    spans.push_back({place, context.microbatch, context.step, begin, end});
  else
    isFull[instruction.stream()] = true;
}

std::string StepTrace::note() const {
  for (size_t stream = 0; stream < streams.size(); ++stream)
    if (isFull[stream])
      return formatText(
          "the trace ends within step %llu, where a stream has %zu "
          "instructions; --trace-steps FIRST:LAST chooses steps",
          (unsigned long long)streams[stream].back().step + 1, spanLimit);
  return "";
}

/// Of each step, from its spans as a predicted one has them.
std::vector<TraceMemory> StepTrace::memory() const {
  const program::Program &program = executor.program();
  const program::Role &role = executor.role();
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> runs;
  for (const program::Entry &entry : role.entries())
    for (int run = 0; entry.name() == entryName && run < entry.runs_size();
         ++run)
      runs[{entry.runs(run).sequence(), entry.runs(run).microbatch()}] =
          uint32_t(run);
  std::map<uint64_t, std::vector<PredictedSpan>> steps;
  for (const std::vector<Span> &stream : streams)
    for (const Span &span : stream)
      if (auto run = runs.find({span.place.sequence, span.microbatch});
          run != runs.end()) {
        PredictedSpan &one = steps[span.step].emplace_back();
        one.run = run->second;
        one.sequence = span.place.sequence;
        one.instruction = span.place.instruction;
        one.microbatch = span.microbatch;
        one.begin = micros(span.begin) * 1e-6;
        one.end = micros(span.end) * 1e-6;
      }
  uint32_t index = 0;
  while (&program.roles(int(index)) != &role)
    ++index;
  std::vector<TraceMemory> moments;
  for (auto &[step, spans] : steps)
    for (TraceMemory &moment :
         memoryTrace(program, index, entryName, std::move(spans)))
      moments.push_back(std::move(moment));
  return moments;
}

double StepTrace::micros(Time time) const {
  return std::chrono::duration<double, std::micro>(time - origin).count();
}

std::string StepTrace::events() const {
  std::vector<std::vector<TimedInstruction>> timed(streams.size());
  for (size_t stream = 0; stream < streams.size(); ++stream)
    for (const Span &span : streams[stream])
      timed[stream].push_back({span.place.sequence, span.place.instruction,
                               span.microbatch, span.step, micros(span.begin),
                               micros(span.end)});
  RankTrace trace = instructionTrace(executor.program(), executor.role(),
                                     executor.rank(), timed);
  trace.memory = memory();
  return traceEvents(trace);
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
