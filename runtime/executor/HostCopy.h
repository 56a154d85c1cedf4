//===- HostCopy.h - What travels through host memory ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// On a device whose memory the host does not share, tensors are copied before
/// and after communicators of the host's memory move them. On a device without
/// memory ranks meet all the same.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_HOSTCOPY_H
#define HOCKET_RUNTIME_EXECUTOR_HOSTCOPY_H

#include "runtime/executor/PreparedCall.h"

namespace hocket {

/// The tensor at `place` as it travels.
inline uint64_t bytesOf(const BufferPlace &place) {
  return place.elements * uint64_t(kernels::bytesOf(place.dtype));
}

/// A tensor's copy in host memory.
class HostCopy {
public:
  Status fetch(const BufferPlace &place, const RunContext &context,
               hal::StreamId stream) {
    return context.device.copyToHost(stream, rangeOf(place, context),
                                     room(place));
  }
  Status put(const BufferPlace &place, const RunContext &context,
             hal::StreamId stream) {
    return context.device.copyFromHost(stream, room(place),
                                       rangeOf(place, context));
  }
  std::byte *room(const BufferPlace &place) {
    bytes.resize(bytesOf(place));
    return bytes.data();
  }

private:
  static hal::Range rangeOf(const BufferPlace &place,
                            const RunContext &context) {
    return {place.at(context).offset, bytesOf(place)};
  }

  std::vector<std::byte> bytes;
};

/// Where time is played, brings a stream to that of the last member to come.
Status meetAll(comm::Communicator &group, hal::Device &device,
               hal::StreamId stream);

/// The part of prepareCommunication() for exchange_rows and return_rows
/// (PreparedExchange.cpp).
std::unique_ptr<PreparedCall>
prepareExchange(const program::Instruction &instruction,
                const PreparationScope &scope, comm::Communicator &group);

/// Whether the host must read what a collective sends how many of, before it
/// does.
inline bool countsOnHost(const program::Instruction &instruction) {
  return instruction.collective().has_rows();
}

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_HOSTCOPY_H
