//===- PreparedCommunication.cpp - Collectives and transfers, resolved ----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// On a device without memory, ranks still meet: messages have no elements, or
/// where time is played they tell the time at which their sender came. What
/// lies in memory that the host does not share travels through host memory,
/// unless communicators are the device's own.
///
//===----------------------------------------------------------------------===//

#include "runtime/executor/HostCopy.h"

#include "base/Format.h"

#include <algorithm>
#include <array>
#include <bit>

using namespace hocket;
using program::Instruction;

namespace {

/// A played time as messages carry it.
using TimeStamp = std::array<int32_t, 2>;
static_assert(sizeof(TimeStamp) == sizeof(double));

/// Brings a stream to the time of the last peer that has come. Both ends tell
/// each other: with twice the tag whoever sends, one more who receives.
Status meetPeers(comm::Communicator &group, hal::Device &device,
                 hal::StreamId stream,
                 const std::vector<comm::Transfer> &transfers) {
  if (!device.playsTime())
    return group.exchange(transfers);
  auto own = std::bit_cast<TimeStamp>(device.time(stream));
  std::vector<TimeStamp> others(transfers.size());
  std::vector<comm::Transfer> stamps;
  for (size_t i = 0; i < transfers.size(); ++i)
    for (bool send : {true, false}) {
      uint32_t answers = send != transfers[i].send;
      stamps.push_back({send, transfers[i].peer,
                        send ? own.data() : others[i].data(), own.size(),
                        hal::DType::I32, 2 * transfers[i].tag + answers});
    }
  HOCKET_RETURN_IF_ERROR(group.exchange(stamps));
  for (const TimeStamp &other : others)
    device.reachTime(stream, std::bit_cast<double>(other));
  return okStatus();
}

using Perform = Status (*)(comm::Communicator &, const void *from, void *to,
                           uint64_t elements, hal::DType,
                           const program::Collective &);

comm::Reduction reductionOf(const program::Collective &collective) {
  return collective.reduction() == "max" ? comm::Reduction::Max
                                         : comm::Reduction::Sum;
}

/// One row an op. `elements` are those of `from`.
const struct {
  const char *op;
  Perform perform;
} performers[] = {
    {"all_reduce",
     [](comm::Communicator &group, const void *from, void *to,
        uint64_t elements, hal::DType type,
        const program::Collective &collective) {
       return group.allReduce(from, to, elements, type,
                              reductionOf(collective));
     }},
    {"all_gather",
     [](comm::Communicator &group, const void *from, void *to,
        uint64_t elements, hal::DType type, const program::Collective &) {
       return group.allGather(from, to, elements, type);
     }},
    {"reduce_scatter",
     [](comm::Communicator &group, const void *from, void *to,
        uint64_t elements, hal::DType type,
        const program::Collective &collective) {
       return group.reduceScatter(from, to, elements / group.size(), type,
                                  reductionOf(collective));
     }},
    {"all_to_all",
     [](comm::Communicator &group, const void *from, void *to,
        uint64_t elements, hal::DType type, const program::Collective &) {
       return group.allToAll(from, to, elements / group.size(), type);
     }},
    {"broadcast",
     [](comm::Communicator &group, const void *, void *to, uint64_t elements,
        hal::DType type, const program::Collective &collective) {
       return group.broadcast(to, elements, type, collective.root());
     }},
};

class PreparedCollective : public PreparedCall {
public:
  PreparedCollective(const Instruction &instruction,
                     const PreparationScope &scope, comm::Communicator &group)
      : stream(instruction.stream()), collective(instruction.collective()),
        group(group) {
    addPart(scope, collective.from(), collective.to());
    for (const auto &part : collective.others())
      addPart(scope, part.from(), part.to());
    for (const auto &row : performers)
      if (collective.op() == row.op)
        perform = row.perform;
  }

  Status run(const RunContext &context) override {
    for (const Part &part : parts)
      if (part.copies)
        HOCKET_RETURN_IF_ERROR(context.device.copy(
            stream, part.from.at(context), part.to.at(context)));
    if (group.isOnDevice())
      return group.together([&] { return performAll(context); });
    if (!context.device.properties().hostMemory)
      return runThroughHost(context);
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    if (!context.device.arenaAddress()) {
      HOCKET_RETURN_IF_ERROR(perform(group, nullptr, nullptr, 0,
                                     parts.front().from.dtype, collective));
      HOCKET_RETURN_IF_ERROR(meetAll(group, context.device, stream));
      return context.device.travelled(stream, bytes);
    }
    return performAll(context);
  }

private:
  struct Part {
    BufferPlace from, to;
    bool copies = false;
    HostCopy sent = {}, received = {};
  };

  Status performAll(const RunContext &context) {
    auto *arena = static_cast<char *>(context.device.arenaAddress());
    for (const Part &part : parts) {
      context.device.noteUse(part.from.at(context));
      context.device.noteUse(part.to.at(context));
      HOCKET_RETURN_IF_ERROR(
          perform(group, arena + part.from.at(context).offset,
                  arena + part.to.at(context).offset, part.from.elements,
                  part.from.dtype, collective));
    }
    return okStatus();
  }

  Status runThroughHost(const RunContext &context) {
    bool inPlace = collective.op() == "broadcast";
    for (Part &part : parts) {
      context.device.noteUse(part.from.at(context));
      context.device.noteUse(part.to.at(context));
      HOCKET_RETURN_IF_ERROR(inPlace
                                 ? part.received.fetch(part.to, context, stream)
                                 : part.sent.fetch(part.from, context, stream));
    }
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    for (Part &part : parts) {
      HOCKET_RETURN_IF_ERROR(
          perform(group, part.sent.room(part.from), part.received.room(part.to),
                  part.from.elements, part.from.dtype, collective));
      HOCKET_RETURN_IF_ERROR(part.received.put(part.to, context, stream));
    }
    return okStatus();
  }

  void addPart(const PreparationScope &scope, uint32_t from, uint32_t to) {
    parts.push_back({BufferPlace::of(scope, from), BufferPlace::of(scope, to)});
    // A broadcast works in place; only the root has something to bring there.
    parts.back().copies = collective.op() == "broadcast" && from != to &&
                          group.rank() == collective.root();
    bytes +=
        std::max(parts.back().from.first.bytes, parts.back().to.first.bytes);
  }

  hal::StreamId stream;
  program::Collective collective;
  comm::Communicator &group;
  std::vector<Part> parts;
  uint64_t bytes = 0; ///< Of the larger end of each part.
  Perform perform = nullptr;
};

class PreparedTransfer : public PreparedCall {
public:
  PreparedTransfer(const Instruction &instruction,
                   const PreparationScope &scope, comm::Communicator &group)
      : stream(instruction.stream()), group(group) {
    for (const auto &part : instruction.transfer().parts()) {
      places.push_back(BufferPlace::of(scope, part.buffer()));
      unsigned peer = part.peer();
      if (part.relative())
        peer = unsigned((uint64_t(group.rank()) + peer) % group.size());
      transfers.push_back(
          {part.send(), peer, nullptr, 0, places.back().dtype, part.tag()});
      received += part.send() ? 0 : places.back().first.bytes;
    }
    copies.resize(places.size());
  }

  Status run(const RunContext &context) override {
    if (!context.device.properties().hostMemory && !group.isOnDevice())
      return runThroughHost(context);
    if (!group.isOnDevice())
      HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    auto *arena = static_cast<char *>(context.device.arenaAddress());
    for (size_t i = 0; arena && i < places.size(); ++i) {
      context.device.noteUse(places[i].at(context));
      transfers[i].data = arena + places[i].at(context).offset;
      transfers[i].count = places[i].elements;
    }
    if (arena)
      return group.exchange(transfers);
    HOCKET_RETURN_IF_ERROR(meetPeers(group, context.device, stream, transfers));
    return context.device.travelled(stream, received);
  }

private:
  Status runThroughHost(const RunContext &context) {
    for (size_t i = 0; i < places.size(); ++i) {
      context.device.noteUse(places[i].at(context));
      transfers[i].data = copies[i].room(places[i]);
      transfers[i].count = places[i].elements;
      if (transfers[i].send)
        HOCKET_RETURN_IF_ERROR(copies[i].fetch(places[i], context, stream));
    }
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    HOCKET_RETURN_IF_ERROR(group.exchange(transfers));
    for (size_t i = 0; i < places.size(); ++i)
      if (!transfers[i].send)
        HOCKET_RETURN_IF_ERROR(copies[i].put(places[i], context, stream));
    return okStatus();
  }

  hal::StreamId stream;
  comm::Communicator &group;
  std::vector<BufferPlace> places;
  std::vector<HostCopy> copies; ///< Of each place.
  std::vector<comm::Transfer> transfers;
  uint64_t received = 0; ///< bytes
};

} // namespace

Status hocket::meetAll(comm::Communicator &group, hal::Device &device,
                       hal::StreamId stream) {
  if (!device.playsTime())
    return okStatus();
  auto own = std::bit_cast<TimeStamp>(device.time(stream));
  std::vector<TimeStamp> all(group.size());
  HOCKET_RETURN_IF_ERROR(
      group.allGather(own.data(), all.data(), own.size(), hal::DType::I32));
  for (const TimeStamp &other : all)
    device.reachTime(stream, std::bit_cast<double>(other));
  return okStatus();
}

StatusOr<std::unique_ptr<PreparedCall>>
hocket::prepareCommunication(const Instruction &instruction,
                             const PreparationScope &scope) {
  uint32_t index = instruction.has_collective()
                       ? instruction.collective().group()
                       : instruction.transfer().group();
  comm::Communicator *group =
      scope.communicators.find(index, instruction.stream());
  if (!group)
    return internalError(formatText("rank %u has no communicator for group %u "
                                    "on stream %u",
                                    scope.rank, index, instruction.stream()));
  std::unique_ptr<PreparedCall> call;
  if (countsOnHost(instruction))
    call = prepareExchange(instruction, scope, *group);
  else if (instruction.has_collective())
    call = std::make_unique<PreparedCollective>(instruction, scope, *group);
  else
    call = std::make_unique<PreparedTransfer>(instruction, scope, *group);
  return call;
}
