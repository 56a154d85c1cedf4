//===- CollectiveCall.h - What a member asks for ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_INTERFACES_COLLECTIVECALL_H
#define HOCKET_RUNTIME_COMM_INTERFACES_COLLECTIVECALL_H

#include "runtime/comm/interfaces/Communicator.h"

#include <string>

namespace hocket::comm {

/// What one member of a group asks for.
struct CollectiveCall {
  enum class Op {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    AllToAllV,
    Broadcast,
    Barrier
  };
  Op op = Op::Barrier;
  const void *from = nullptr;
  void *to = nullptr;
  uint64_t count = 0;
  DType dtype = DType::F32;
  Reduction reduction = Reduction::Sum;
  unsigned root = 0;
  PeerCounts sends, receives; ///< AllToAllV.
};

/// A call without root and peer counts.
inline CollectiveCall makeCall(CollectiveCall::Op op, const void *from,
                               void *to, uint64_t count, DType dtype,
                               Reduction reduction = Reduction::Sum) {
  CollectiveCall call;
  call.op = op;
  call.from = from;
  call.to = to;
  call.count = count;
  call.dtype = dtype;
  call.reduction = reduction;
  return call;
}

/// "all_reduce of 64 f32".
std::string callText(const CollectiveCall &call);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_INTERFACES_COLLECTIVECALL_H
