//===- PreparedExchange.cpp - Rows of experts, resolved -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// exchange_rows and return_rows (program.proto). All communicators want the
/// counts on the host, NCCL too: they are read from the device, which is waited
/// for. Where a rank would be sent more rows than it has room for, the host
/// says what comes of it (HostChannel::beyondBound()). By default the rank
/// fails before anything is sent, and with it all: nothing has been updated by
/// then. Else the rows are received, since others send them, and forgotten: the
/// experts get NaN in place of each, and send as many back.
///
//===----------------------------------------------------------------------===//

#include "runtime/executor/HostCopy.h"

#include "base/Format.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

using namespace hocket;
using program::Instruction;

namespace {

/// Consecutive rows for, or from, each member.
struct PeerRows {
  std::vector<uint64_t> counts, offsets; ///< rows
  uint64_t total = 0;

  /// Elements instead.
  void widen(uint64_t width) {
    for (std::vector<uint64_t> *list : {&counts, &offsets})
      for (uint64_t &number : *list)
        number *= width;
  }
  comm::PeerCounts peers() const { return {counts, offsets}; }
};

/// What (first row, rows) of each expert say, `members` of them one after the
/// other. InvalidArgument where they leave gaps.
StatusOr<PeerRows> peerRows(const std::vector<int32_t> &pairs, size_t members) {
  size_t each = pairs.size() / 2 / members;
  PeerRows result;
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    if (pairs[2 * i + 1] < 0 || int64_t(result.total) != pairs[2 * i])
      return invalidArgument(formatText(
          "rows of experts do not follow each other: %d from row %d on, where "
          "%llu are before them",
          pairs[2 * i + 1], pairs[2 * i], (unsigned long long)result.total));
    if (i % each == 0) {
      result.counts.push_back(0);
      result.offsets.push_back(result.total);
    }
    result.counts.back() += uint64_t(pairs[2 * i + 1]);
    result.total += uint64_t(pairs[2 * i + 1]);
  }
  return result;
}

class PreparedExchange : public PreparedCall {
public:
  PreparedExchange(const Instruction &instruction,
                   const PreparationScope &scope, comm::Communicator &group)
      : stream(instruction.stream()),
        returns(instruction.collective().op() == "return_rows"),
        width(instruction.collective().rows().width()), group(group),
        from(BufferPlace::of(scope, instruction.collective().from())),
        to(BufferPlace::of(scope, instruction.collective().to())),
        ranges(
            BufferPlace::of(scope, instruction.collective().rows().ranges())),
        segments(BufferPlace::of(scope,
                                 instruction.collective().rows().segments())) {}

  Status run(const RunContext &context) override {
    bool hasArena = context.device.properties().hostMemory == false ||
                    context.device.arenaAddress() != nullptr;
    if (!hasArena)
      return meet(context);
    HOCKET_RETURN_IF_ERROR(readCounts(context));
    if (group.isOnDevice())
      return exchangeOnDevice(context);
    return context.device.properties().hostMemory
               ? exchange(context)
               : exchangeThroughHost(context);
  }

private:
  /// A byte of which every floating-point type makes NaN, whatever its width.
  static constexpr uint8_t ofNoNumber = 0xFF;

  /// Without memory there are no counts: as many rows as the smaller end has
  /// are what travels where experts are chosen evenly.
  Status meet(const RunContext &context) {
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    std::vector<uint64_t> none(group.size());
    HOCKET_RETURN_IF_ERROR(group.allToAllV(nullptr, {none, none}, nullptr,
                                           {none, none}, from.dtype));
    HOCKET_RETURN_IF_ERROR(meetAll(group, context.device, stream));
    return context.device.travelled(stream,
                                    std::min(from.first.bytes, to.first.bytes));
  }

  /// Reads and checks what goes to and comes from each member.
  Status readCounts(const RunContext &context) {
    std::vector<int32_t> pairs[2];
    for (const BufferPlace *place : {&ranges, &segments}) {
      std::vector<int32_t> &list = pairs[place == &segments];
      list.resize(place->elements);
      context.device.noteUse(place->at(context));
      HOCKET_RETURN_IF_ERROR(context.device.copyToHost(
          stream, {place->at(context).offset, bytesOf(*place)}, list.data()));
    }
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    HOCKET_ASSIGN_OR_RETURN(PeerRows own, peerRows(pairs[0], group.size()));
    HOCKET_ASSIGN_OR_RETURN(PeerRows others, peerRows(pairs[1], group.size()));
    // Those of this rank's tokens, and those that its experts are chosen for.
    const BufferPlace &atTokens = returns ? to : from;
    const BufferPlace &atExperts = returns ? from : to;
    uint64_t room = atExperts.elements / width;
    uint64_t even = atTokens.elements / width;
    if (own.total > even)
      return invalidArgument(
          formatText("%llu rows of experts are to be sent, where there are "
                     "%llu",
                     (unsigned long long)own.total, (unsigned long long)even));
    if (!returns)
      context.host.noteExpertLoad(double(others.total) / double(even));
    isBeyond = others.total > room;
    if (isBeyond)
      HOCKET_RETURN_IF_ERROR(
          context.host.beyondBound(beyondBound(others.total, room, even)));
    // One member sends no more than its even share, for which there is room.
    if (isBeyond && std::ranges::max(others.counts) > room)
      return internalError("one rank sends more rows than another has room "
                           "for");
    // Of what there is no room for, every member's rows are the first ones.
    if (isBeyond && (returns || group.isOnDevice()))
      std::ranges::fill(others.offsets, 0);
    if (returns)
      std::swap(own, others);
    sends = std::move(own);
    receives = std::move(others);
    received = receives.total * width;
    sends.widen(width);
    receives.widen(width);
    return okStatus();
  }

  /// A multiple of the even share that is enough, with two digits.
  Status beyondBound(uint64_t needed, uint64_t room, uint64_t even) const {
    double share = std::ceil(double(needed) / double(even) * 100) / 100;
    return resourceExhausted(formatText(
        "tokens have chosen the experts of one rank for %llu rows, and "
        "there is room for %llu (%.2f times the even share of %llu); no token "
        "was dropped and nothing was updated; write "
        "moe.expert_capacity_bound: %.2f, or more (docs/guide-many-ranks.md)",
        (unsigned long long)needed, (unsigned long long)room,
        double(room) / double(even), (unsigned long long)even, share));
  }

  uint64_t bytesPerElement() const {
    return uint64_t(kernels::bytesOf(to.dtype));
  }

  void noteRows(const RunContext &context) const {
    context.device.noteUse(from.at(context));
    context.device.noteUse(to.at(context));
  }

  Status exchange(const RunContext &context) {
    noteRows(context);
    auto *arena = static_cast<std::byte *>(context.device.arenaAddress());
    return exchange(arena + from.at(context).offset,
                    arena + to.at(context).offset);
  }

  /// Experts are given none of the rows that there is no room for.
  bool isForgotten() const { return isBeyond && !returns; }

  Status exchange(const std::byte *sent, std::byte *result) {
    uint64_t filled = received * bytesPerElement();
    if (isForgotten()) {
      std::vector<std::byte> forgotten(filled);
      std::memset(result, ofNoNumber, bytesOf(to));
      return group.allToAllV(sent, sends.peers(), forgotten.data(),
                             receives.peers(), from.dtype);
    }
    std::memset(result + filled, 0, bytesOf(to) - filled);
    return group.allToAllV(sent, sends.peers(), result, receives.peers(),
                           from.dtype);
  }

  Status exchangeOnDevice(const RunContext &context) {
    noteRows(context);
    uint64_t filled = received * bytesPerElement();
    if (filled < bytesOf(to))
      HOCKET_RETURN_IF_ERROR(context.device.fill(
          stream, {to.at(context).offset + filled, bytesOf(to) - filled}, 0));
    auto *arena = static_cast<std::byte *>(context.device.arenaAddress());
    HOCKET_RETURN_IF_ERROR(group.together([&] {
      return group.allToAllV(arena + from.at(context).offset, sends.peers(),
                             arena + to.at(context).offset, receives.peers(),
                             from.dtype);
    }));
    return isForgotten()
               ? context.device.fill(
                     stream, {to.at(context).offset, bytesOf(to)}, ofNoNumber)
               : okStatus();
  }

  Status exchangeThroughHost(const RunContext &context) {
    noteRows(context);
    HOCKET_RETURN_IF_ERROR(sent.fetch(from, context, stream));
    HOCKET_RETURN_IF_ERROR(context.device.synchronize(stream));
    HOCKET_RETURN_IF_ERROR(exchange(sent.room(from), result.room(to)));
    return result.put(to, context, stream);
  }

  hal::StreamId stream;
  bool returns;
  uint64_t width;
  comm::Communicator &group;
  BufferPlace from, to, ranges, segments;
  HostCopy sent, result;
  PeerRows sends, receives; ///< Of this run, in elements.
  uint64_t received = 0;    ///< elements
  bool isBeyond = false;    ///< There is no room for all rows of experts.
};

} // namespace

std::unique_ptr<PreparedCall>
hocket::prepareExchange(const Instruction &instruction,
                        const PreparationScope &scope,
                        comm::Communicator &group) {
  return std::make_unique<PreparedExchange>(instruction, scope, group);
}
