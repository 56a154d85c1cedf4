//===- CapturedEntry.cpp - An entry that the device has captured ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/CapturedEntry.h"

#include "runtime/executor/HostCopy.h"

#include "base/Format.h"
#include "runtime/executor/PreparedCall.h"
#include "runtime/program/DataType.h"

#include <algorithm>

using namespace hocket;
using program::Instruction;

/// Bytes of host memory between the beginnings of two copies.
static uint64_t placeOf(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

StatusOr<CapturedEntry> CapturedEntry::create(hal::Device &device,
                                              const program::Role &role,
                                              const program::Entry &entry) {
  uint64_t bytes = 0;
  for (const program::Entry::Run &run : entry.runs())
    for (const Instruction &instruction :
         role.sequences(int(run.sequence())).instructions())
      if (instruction.has_host()) {
        const auto &buffer = role.buffers(int(instruction.host().buffer()));
        bytes +=
            placeOf(tensorBytes(buffer.shape(), buffer.dtype()).value_or(0));
      }
  CapturedEntry capture(device);
  HOCKET_ASSIGN_OR_RETURN(
      void *memory, device.allocateHostMemory(std::max<uint64_t>(bytes, 1)));
  capture.room = {static_cast<std::byte *>(memory), bytes};
  return capture;
}

StatusOr<void *> CapturedEntry::add(bool isInput, const HostOutput &what) {
  if (placeOf(what.bytes) > room.size())
    return internalError("there is no room for a copy that is captured");
  (isInput ? inputs : outputs).push_back({what, room.first(what.bytes)});
  void *memory = room.data();
  room = room.subspan(placeOf(what.bytes));
  return memory;
}

Status CapturedEntry::tell(HostChannel &host, const Copy &output) {
  std::vector<std::byte> wanted;
  for (const ByteRange &part : host.wanted(output.what)) {
    auto bytes = output.memory.subspan(part.offset, part.bytes);
    wanted.insert(wanted.end(), bytes.begin(), bytes.end());
  }
  return wanted.empty()
             ? okStatus()
             : host.receive(output.what.name, output.what.microbatch, wanted);
}

void CapturedEntry::addVarying(PreparedCall &call, const RunContext &context) {
  varying.push_back(
      {&call, context.microbatch, context.slot, context.isFirstRun});
}

Status CapturedEntry::replay(const RunContext &first) {
  HostChannel &host = first.host;
  for (const Copy &input : inputs)
    HOCKET_RETURN_IF_ERROR(host.provide(
        {input.what.name, input.what.microbatch, input.what.shards},
        input.memory));
  if (!varying.empty())
    HOCKET_RETURN_IF_ERROR(device->beginUpdate(id));
  RunContext context = first;
  for (const Varying &each : varying) {
    context.microbatch = each.microbatch;
    context.slot = each.slot;
    context.isFirstRun = each.isFirstRun;
    HOCKET_RETURN_IF_ERROR(each.call->run(context));
  }
  HOCKET_RETURN_IF_ERROR(device->replay(id));
  HOCKET_RETURN_IF_ERROR(device->synchronize(0));
  for (const Copy &output : outputs)
    HOCKET_RETURN_IF_ERROR(tell(host, output));
  return okStatus();
}

static bool isMessage(const Instruction &instruction) {
  return instruction.has_collective() || instruction.has_transfer();
}

size_t hocket::countMessages(const program::Role &role,
                             const program::Entry &entry) {
  size_t count = 0;
  for (const program::Entry::Run &run : entry.runs())
    count += size_t(std::ranges::count_if(
        role.sequences(int(run.sequence())).instructions(), isMessage));
  return count;
}

static std::string obstacleOf(const Instruction &instruction) {
  if (isMessage(instruction))
    return "exchanges messages through host memory";
  if (instruction.stream() != 0 || instruction.has_record() ||
      instruction.has_wait())
    return "is one of several streams, which the host brings together";
  return "";
}

/// What `obstacleOf` says of the first instruction that it says something of.
template <typename Fn>
static std::string firstObstacle(const program::Role &role,
                                 const program::Entry &entry, Fn obstacleOf) {
  for (const program::Entry::Run &run : entry.runs()) {
    const program::Sequence &sequence = role.sequences(int(run.sequence()));
    for (int i = 0; i < sequence.instructions_size(); ++i)
      if (std::string why = obstacleOf(sequence.instructions(i)); !why.empty())
        return formatText("sequence '%s', instruction %d %s",
                          sequence.name().c_str(), i, why.c_str());
  }
  return "";
}

std::string hocket::obstacleToCapture(const program::Role &role,
                                      const program::Entry &entry) {
  return firstObstacle(role, entry, obstacleOf);
}

std::string hocket::obstacleOfCounts(const program::Role &role,
                                     const program::Entry &entry) {
  return firstObstacle(
      role, entry, [](const Instruction &instruction) -> std::string {
        return countsOnHost(instruction)
                   ? "sends as many rows as tokens have chosen, which the host "
                     "has to know"
                   : "";
      });
}
