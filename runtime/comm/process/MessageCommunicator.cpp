//===- MessageCommunicator.cpp - Collectives out of messages --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/MessageCommunicator.h"

#include "base/Format.h"
#include "runtime/comm/interfaces/Reduce.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::comm;
using Op = CollectiveCall::Op;

static uint64_t widthOf(DType dtype) {
  return uint64_t(kernels::bytesOf(dtype));
}

/// Collectives of one kind meet only each other: the kind is the tag.
Message MessageCommunicator::message(const CollectiveCall &call, bool send,
                                     unsigned peer) const {
  Message message;
  message.channel = at.collectives;
  message.send = send;
  message.peer = peer;
  message.tag = uint32_t(call.op);
  return message;
}

template <typename Sent, typename Received>
Status MessageCommunicator::trade(const CollectiveCall &call, Sent &&sent,
                                  Received &&received) {
  MessageBatch batch(state, at.lane);
  auto start = [&](bool send, unsigned peer, const void *base, Part part) {
    if (part.bytes == 0)
      return okStatus();
    Message next = message(call, send, peer);
    next.data =
        const_cast<char *>(static_cast<const char *>(base)) + part.offset;
    next.bytes = part.bytes;
    return batch.start(next);
  };
  // Neighbours first, so that not all begin with the same one.
  for (unsigned step = 1; step < size(); ++step) {
    unsigned peer = (rank() + size() - step) % size();
    HOCKET_RETURN_IF_ERROR(start(false, peer, call.to, received(peer)));
  }
  for (unsigned step = 1; step < size(); ++step) {
    unsigned peer = (rank() + step) % size();
    HOCKET_RETURN_IF_ERROR(start(true, peer, call.from, sent(peer)));
  }
  Part mine = sent(rank()), target = received(rank());
  const char *from = static_cast<const char *>(call.from) + mine.offset;
  char *to = static_cast<char *>(call.to) + target.offset;
  if (mine.bytes > 0 && from != to)
    std::memcpy(to, from, mine.bytes);
  return batch.wait(subject(call), at.ranks);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Elements [begin of the place, + count) of all, reduced in rank order;
/// `begin` is this rank's, and the sizes are those of its part.
Status MessageCommunicator::doReduceScatter(const void *from, void *to,
                                            uint64_t count, DType dtype,
                                            Reduction reduction) {
  uint64_t bytes = count * widthOf(dtype);
  parts.resize(bytes * size());
  CollectiveCall call =
      makeCall(Op::ReduceScatter, from, parts.data(), count, dtype, reduction);
  HOCKET_RETURN_IF_ERROR(trade(
      call, [&](unsigned peer) { return Part{peer * bytes, bytes}; },
      [&](unsigned peer) { return Part{peer * bytes, bytes}; }));
  std::vector<const void *> all;
  for (unsigned place = 0; place < size(); ++place)
    all.push_back(parts.data() + place * bytes);
  reduceParts(all, to, count, dtype, reduction);
  return okStatus();
}

/// Every place sums a part of the elements; then all gather the parts.
Status MessageCommunicator::doAllReduce(const void *from, void *to,
                                        uint64_t count, DType dtype,
                                        Reduction reduction) {
  uint64_t width = widthOf(dtype);
  // A multiple of 16 elements, so that parts begin where vectors do.
  uint64_t step = (count / size() + (count % size() != 0) + 15) / 16 * 16;
  auto begin = [&](unsigned place) { return std::min(count, place * step); };
  auto part = [&](unsigned place) {
    return Part{begin(place) * width,
                (begin(place + 1) - begin(place)) * width};
  };
  Part own = part(rank());
  parts.resize(std::max<uint64_t>(own.bytes * size(), 1));
  CollectiveCall scatter =
      makeCall(Op::AllReduce, from, parts.data(), count, dtype, reduction);
  HOCKET_RETURN_IF_ERROR(trade(scatter, part, [&](unsigned peer) {
    return Part{peer * own.bytes, own.bytes};
  }));
  std::vector<const void *> all;
  for (unsigned place = 0; place < size(); ++place)
    all.push_back(parts.data() + place * own.bytes);
  char *result = static_cast<char *>(to) + own.offset;
  reduceParts(all, result, own.bytes / width, dtype, reduction);
  CollectiveCall gather =
      makeCall(Op::AllReduce, to, to, count, dtype, reduction);
  return trade(gather, [&](unsigned) { return own; }, part);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Status MessageCommunicator::doAllGather(const void *from, void *to,
                                        uint64_t count, DType dtype) {
  uint64_t bytes = count * widthOf(dtype);
  return trade(
      makeCall(Op::AllGather, from, to, count, dtype),
      [&](unsigned) { return Part{0, bytes}; },
      [&](unsigned peer) { return Part{peer * bytes, bytes}; });
}

Status MessageCommunicator::doAllToAll(const void *from, void *to,
                                       uint64_t count, DType dtype) {
  uint64_t bytes = count * widthOf(dtype);
  auto part = [&](unsigned peer) { return Part{peer * bytes, bytes}; };
  return trade(makeCall(Op::AllToAll, from, to, count, dtype), part, part);
}

Status MessageCommunicator::doAllToAllV(const void *from, PeerCounts sends,
                                        void *to, PeerCounts receives,
                                        DType dtype) {
  uint64_t width = widthOf(dtype);
  auto part = [&](const PeerCounts &side) {
    return [&side, width](unsigned peer) {
      return Part{side.offsets[peer] * width, side.counts[peer] * width};
    };
  };
  return trade(makeCall(Op::AllToAllV, from, to, 0, dtype), part(sends),
               part(receives));
}

Status MessageCommunicator::doBroadcast(void *data, uint64_t count, DType dtype,
                                        unsigned root) {
  CollectiveCall call = makeCall(Op::Broadcast, data, data, count, dtype);
  call.root = root;
  unsigned virtualPlace = (rank() + size() - root) % size(), bit = 1;
  auto pass = [&](bool send, unsigned virtualPeer) {
    MessageBatch batch(state, at.lane);
    Message next = message(call, send, (virtualPeer + root) % size());
    next.data = data;
    next.bytes = count * widthOf(dtype);
    HOCKET_RETURN_IF_ERROR(batch.start(next));
    return batch.wait(subject(call), at.ranks);
  };
  for (; bit < size(); bit <<= 1)
    if (virtualPlace & bit) {
      HOCKET_RETURN_IF_ERROR(pass(false, virtualPlace - bit));
      break;
    }
  for (bit >>= 1; bit > 0; bit >>= 1)
    if (virtualPlace + bit < size())
      HOCKET_RETURN_IF_ERROR(pass(true, virtualPlace + bit));
  return okStatus();
}

Status MessageCommunicator::barrier() {
  CollectiveCall call;
  char in = 0, out = 0;
  for (unsigned distance = 1; distance < size(); distance *= 2) {
    MessageBatch batch(state, at.lane);
    for (bool send : {false, true}) {
      unsigned peer = send ? rank() + distance : rank() + size() - distance;
      Message next = message(call, send, peer % size());
      next.data = send ? &out : &in;
      next.bytes = 1;
      HOCKET_RETURN_IF_ERROR(batch.start(next));
    }
    HOCKET_RETURN_IF_ERROR(batch.wait(subject(call), at.ranks));
  }
  return okStatus();
}

Status MessageCommunicator::doExchange(std::span<const Transfer> transfers) {
  MessageBatch batch(state, at.lane);
  std::string text;
  for (bool send : {false, true})
    for (const Transfer &transfer : transfers) {
      if (transfer.send != send)
        continue;
      HOCKET_RETURN_IF_ERROR(batch.start(
          {at.transfers, send, transfer.peer, transfer.data,
           transfer.count * widthOf(transfer.dtype), transfer.tag}));
      text +=
          formatText("%s%s rank %u (tag %u, %llu %s)", text.empty() ? "" : ", ",
                     send ? "send to" : "receive from", at.ranks[transfer.peer],
                     transfer.tag, (unsigned long long)transfer.count,
                     typeName(transfer.dtype));
    }
  return batch.wait(groupText(at.group, at.ranks) + ": to " + text, at.ranks);
}
