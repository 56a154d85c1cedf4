//===- Executor.cpp - Runs the program of one rank ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/Executor.h"

#include "base/Format.h"
#include "runtime/comm/interfaces/FailureText.h"
#include "runtime/executor/ProgramGroups.h"
#include "runtime/executor/ProgramKernels.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FirstRuns.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <chrono>

using namespace hocket;

/// The role of `rank`, or -1.
static int findRole(const program::Program &program, unsigned rank) {
  for (int role = 0; role < program.roles_size(); ++role)
    for (uint32_t member : program.roles(role).ranks())
      if (member == rank)
        return role;
  return -1;
}

StatusOr<std::unique_ptr<Executor>>
Executor::create(std::shared_ptr<const program::Program> program,
                 std::unique_ptr<hal::Device> device,
                 comm::CommunicatorSet &communicators) {
  std::unique_ptr<Executor> executor(new Executor());
  unsigned rank = communicators.world().rank();
  unsigned size = communicators.world().size();
  executor->roleIndex = findRole(*program, rank);
  if (executor->roleIndex < 0)
    return invalidArgument(
        formatText("the program has no role for rank %u", rank));
  if (unsigned ranks = countRanks(*program); ranks != size)
    return invalidArgument(
        formatText("the program is for %u ranks, %u run", ranks, size));
  executor->ownRank = rank;
  executor->seed = program->training().seed();
  executor->source = std::move(program);
  executor->target = std::move(device);
  executor->group = &communicators;
  HOCKET_RETURN_IF_ERROR(executor->load());
  executor->start();
  return executor;
}

Executor::~Executor() {
  // The queues' threads and whoever describes this rank use what follows.
  queues.reset();
  if (group)
    group->activity().setDescriber(nullptr);
}

Status Executor::load() {
  const program::Role &r = role();
  // The lesser of the two first: where there is too little, the error tells of
  // both.
  HOCKET_RETURN_IF_ERROR(
      target->reserveScratch(r.memory().scratch_bytes_per_worker()));
  HOCKET_RETURN_IF_ERROR(target->allocateArena(r.memory().arena_bytes()));
  HOCKET_RETURN_IF_ERROR(
      target->createQueues(std::max(1u, r.streams()), r.events()));
  std::vector<void *> streams;
  for (uint32_t stream = 0; stream < target->streams(); ++stream)
    streams.push_back(target->nativeStream(stream));
  group->useStreams(streams);
  HOCKET_ASSIGN_OR_RETURN(std::vector<hal::KernelId> kernels,
                          loadKernels(*source, *target));
  HOCKET_RETURN_IF_ERROR(prepare(kernels));
  HOCKET_RETURN_IF_ERROR(prepareDevice());
  for (int i = 0; i < r.entries_size(); ++i)
    entries[r.entries(i).name()] = i;
  return okStatus();
}

Status Executor::prepare(const std::vector<hal::KernelId> &kernels) {
  PreparationScope scope{*source, role(), kernels, ownRank, *group};
  for (const program::Sequence &sequence : role().sequences()) {
    sequences.emplace_back();
    for (const program::Instruction &instruction : sequence.instructions()) {
      Step step;
      HOCKET_ASSIGN_OR_RETURN(step.call, prepareCall(instruction, scope));
      step.stream = instruction.stream();
      step.records = instruction.has_record();
      step.event = step.records ? instruction.record().event()
                                : instruction.wait().event();
      sequences.back().push_back(std::move(step));
    }
  }
  return okStatus();
}

/// As they are in the first slot; in others they lie as well aligned.
Status Executor::prepareDevice() {
  NoHost host;
  RunContext context{*target, host, 0, 0, 0, seed};
  std::vector<hal::GemmCall> gemms;
  std::vector<hal::LibraryCall> ops;
  for (const std::vector<Step> &steps : sequences)
    for (const Step &step : steps) {
      if (const auto *call = step.call ? step.call->gemm(context) : nullptr)
        gemms.push_back(*call);
      if (const auto *call = step.call ? step.call->library(context) : nullptr)
        ops.push_back(*call);
    }
  HOCKET_RETURN_IF_ERROR(target->prepareLibrary(ops));
  return target->prepareGemms(gemms);
}

void Executor::start() {
  if (!group->isOnDevice())
    queues = std::make_unique<StreamQueues>(
        role().events(), *target, group->activity(),
        [this](PreparedCall &call, InstructionPlace place,
               const RunContext &context) {
          Status status = runCall(call, place, context);
          if (!status.ok()) // So that stream 0 does not wait for other ranks.
            group->fail(status);
          return status;
        });
  group->activity().setDescriber([this](uint64_t position) {
    return describe(InstructionPlace::of(position));
  });
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Status Executor::run(const std::string &entry, uint64_t step,
                     HostChannel &host) {
  auto found = entries.find(entry);
  if (found == entries.end())
    return notFound("the program has no entry '" + entry + "'");
  Status status = runOrReplay(role().entries(found->second), step, host);
  if (!status.ok()) {
    group->fail(status);
    if (queues)
      queues->fail(status);
  }
  if (Status first = queues ? queues->drain() : okStatus(); !first.ok())
    status = first;
  if (queues)
    group->activity().idle(0);
  HOCKET_RETURN_IF_ERROR(status);
  Status finished = target->synchronize();
  group->activity().idle(0);
  if (!queues) // What waited for other ranks may have been aborted.
    HOCKET_RETURN_IF_ERROR(group->check());
  return finished;
}

Status Executor::runOrReplay(const program::Entry &entry, uint64_t step,
                             HostChannel &host) {
  auto captured = graphs.find(entry.name());
  RunContext first{*target, host, 0, 0, step, seed};
  if (captured != graphs.end() && times.empty() && !listener) {
    noteReplay(entry);
    HOCKET_RETURN_IF_ERROR(group->check());
    group->replaying(captured->second.messages());
    return captured->second.replay(first);
  }
  return runEntry(entry, first);
}

/// To others the rank runs, at its last instruction, as when all are issued.
void Executor::noteReplay(const program::Entry &entry) {
  for (const program::Entry::Run &run : entry.runs())
    if (auto count = uint32_t(sequences[run.sequence()].size()))
      group->activity().run(
          0, InstructionPlace{run.sequence(), count - 1}.position());
}

/// `first` says what all runs have in common.
Status Executor::runEntry(const program::Entry &entry,
                          const RunContext &first) {
  std::vector<bool> firstRuns = firstRunsOf(entry);
  for (int r = 0; r < entry.runs_size(); ++r) {
    const program::Entry::Run &run = entry.runs(r);
    RunContext context = first;
    context.microbatch = run.microbatch();
    context.slot = run.slot();
    context.isFirstRun = firstRuns[size_t(r)];
    const std::vector<Step> &steps = sequences[run.sequence()];
    for (uint32_t i = 0; i < steps.size(); ++i)
      HOCKET_RETURN_IF_ERROR(issue({run.sequence(), i}, steps[i], context));
  }
  return okStatus();
}

Status Executor::issue(InstructionPlace place, const Step &step,
                       const RunContext &context) {
  if (!step.call && !queues)
    return issueEvent(step, context.capture);
  if (!step.call) {
    if (!step.records)
      return queues->wait(step.stream, step.event);
    queues->record(step.stream, step.event);
    return okStatus();
  }
  if (step.stream > 0 && queues) {
    queues->enqueue(step.stream, *step.call, place, context);
    return okStatus();
  }
  group->activity().run(0, place.position());
  return runCall(*step.call, place, context);
}

Status Executor::issueEvent(const Step &step, CapturedEntry *capture) {
  if (step.records && capture)
    capture->noteRecord(step.event);
  if (step.records)
    return target->record(step.stream, step.event);
  if (capture && !capture->waitsFor(step.event))
    return okStatus();
  return target->wait(step.stream, step.event);
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

Status Executor::checkCapturable(const std::string &entry) const {
  auto found = entries.find(entry);
  if (found == entries.end())
    return notFound("the program has no entry '" + entry + "'");
  if (!target->canCapture())
    return failedPrecondition(
        target->properties().name +
        " cannot capture a CUDA graph, or is to wait for every "
        "instruction");
  if (group->isOnDevice()) {
    std::string counted =
        obstacleOfCounts(role(), role().entries(found->second));
    return counted.empty() ? okStatus() : failedPrecondition(counted);
  }
  if (group->world().size() > 1)
    return failedPrecondition("messages between ranks go through host memory");
  std::string obstacle =
      obstacleToCapture(role(), role().entries(found->second));
  return obstacle.empty() ? okStatus() : failedPrecondition(obstacle);
}

StatusOr<hal::GraphId> Executor::captureEntry(const program::Entry &entry,
                                              CapturedEntry &capture) {
  NoHost nobody;
  HOCKET_RETURN_IF_ERROR(target->beginCapture());
  Status issued = runEntry(entry, {*target, nobody, 0, 0, 0, seed, &capture});
  group->activity().idle(0);
  StatusOr<hal::GraphId> id = target->endCapture();
  HOCKET_RETURN_IF_ERROR(issued);
  return id;
}

Status Executor::capture(const std::string &entry) {
  HOCKET_RETURN_IF_ERROR(checkCapturable(entry));
  const program::Entry &source = role().entries(entries.at(entry));
  HOCKET_ASSIGN_OR_RETURN(CapturedEntry capture,
                          CapturedEntry::create(*target, role(), source));
  HOCKET_ASSIGN_OR_RETURN(unsigned messages,
                          group->beginCapture(countMessages(role(), source)));
  StatusOr<hal::GraphId> id = captureEntry(source, capture);
  group->endCapture();
  HOCKET_RETURN_IF_ERROR(id.status());
  capture.close(*id, messages);
  graphs.insert_or_assign(entry, std::move(capture));
  return okStatus();
}

ExecutionListener::Time Executor::now(uint32_t stream) const {
  using Time = ExecutionListener::Time;
  if (!target->playsTime())
    return std::chrono::steady_clock::now();
  return Time(std::chrono::duration_cast<Time::duration>(
      std::chrono::duration<double>(target->time(stream))));
}

Status Executor::runCall(PreparedCall &call, InstructionPlace place,
                         const RunContext &context) {
  bool measures = !times.empty();
  ExecutionListener::Time begin;
  uint32_t stream = sequences[place.sequence][place.instruction].stream;
  if (measures || listener)
    begin = now(stream);
  Status status = call.run(context);
  if (status.ok() && measures)
    status = target->synchronize();
  if (status.ok() && (measures || listener)) {
    auto end = now(stream);
    if (measures) {
      MeasuredTime &time = times[place.sequence][place.instruction];
      time.seconds += std::chrono::duration<double>(end - begin).count();
      ++time.runs;
    }
    if (listener)
      listener->ran(place, context, begin, end);
  }
  if (status.ok())
    return status;
  std::string who =
      group->world().size() > 1 ? formatText("rank %u, ", ownRank) : "";
  return comm::atPlace(status, who + describe(place));
}

std::string Executor::describe(InstructionPlace place) const {
  const program::Sequence &sequence = role().sequences(int(place.sequence));
  const program::Instruction &instruction =
      sequence.instructions(int(place.instruction));
  std::string text = instructionText(instruction, *source);
  constexpr size_t shown = 120; // A bucket may have hundreds of operands.
  if (size_t cut = text.rfind(", ", shown);
      text.size() > shown && cut != text.npos)
    text = text.substr(0, cut) + ", ...";
  return formatText("sequence '%s', instruction %u (%s%s%s)",
                    sequence.name().c_str(), place.instruction,
                    instruction.source().c_str(),
                    instruction.source().empty() ? "" : ": ", text.c_str());
}

void Executor::startProfile() {
  times.clear();
  for (const auto &calls : sequences)
    times.emplace_back(calls.size());
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

uint64_t Executor::sliceBytes(const program::ParameterSlice &slice) const {
  if (slice.buffer() >= uint32_t(role().buffers_size()))
    return 0;
  program::DType dtype = role().buffers(int(slice.buffer())).dtype();
  return tensorBytes(slice.size(), dtype).value_or(0);
}

Status Executor::checkSlice(const program::ParameterSlice &slice,
                            uint64_t offset, uint64_t bytes,
                            hal::Range &range) const {
  uint64_t size = sliceBytes(slice);
  if (!rangeInside(offset, bytes, size))
    return invalidArgument(formatText(
        "a slice of parameter %u, %s, has %llu bytes, [%llu, +%llu) lie "
        "outside",
        slice.parameter(), slice.state().c_str(), (unsigned long long)size,
        (unsigned long long)offset, (unsigned long long)bytes));
  range = {role().buffers(int(slice.buffer())).offset() + offset, bytes};
  return okStatus();
}

Status Executor::readSlice(const program::ParameterSlice &slice,
                           uint64_t offset, void *to, uint64_t bytes) {
  hal::Range range;
  HOCKET_RETURN_IF_ERROR(checkSlice(slice, offset, bytes, range));
  HOCKET_RETURN_IF_ERROR(target->synchronize());
  HOCKET_RETURN_IF_ERROR(target->copyToHost(0, range, to));
  return target->synchronize(0);
}

Status Executor::beginWriteSlice(const program::ParameterSlice &slice,
                                 uint64_t offset, const void *from,
                                 uint64_t bytes) {
  hal::Range range;
  HOCKET_RETURN_IF_ERROR(checkSlice(slice, offset, bytes, range));
  return target->copyFromHost(0, from, range);
}

Status Executor::writeSlice(const program::ParameterSlice &slice,
                            uint64_t offset, const void *from, uint64_t bytes) {
  HOCKET_RETURN_IF_ERROR(target->synchronize());
  HOCKET_RETURN_IF_ERROR(beginWriteSlice(slice, offset, from, bytes));
  return target->synchronize(0);
}
