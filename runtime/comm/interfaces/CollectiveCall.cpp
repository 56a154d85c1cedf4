//===- CollectiveCall.cpp - What a member asks for ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/CollectiveCall.h"

#include "base/Format.h"

using namespace hocket;
using namespace hocket::comm;
using Op = CollectiveCall::Op;

static const char *opName(Op op) {
  switch (op) {
  case Op::AllReduce:
    return "all_reduce";
  case Op::AllGather:
    return "all_gather";
  case Op::ReduceScatter:
    return "reduce_scatter";
  case Op::AllToAll:
    return "all_to_all";
  case Op::AllToAllV:
    return "all_to_all_v";
  case Op::Broadcast:
    return "broadcast";
  case Op::Barrier:
    return "barrier";
  }
  return "?";
}

std::string comm::callText(const CollectiveCall &call) {
  if (call.op == Op::Barrier)
    return opName(call.op);
  std::string text =
      call.op == Op::AllToAllV
          ? formatText("%s of %s", opName(call.op), typeName(call.dtype))
          : formatText("%s of %llu %s", opName(call.op),
                       (unsigned long long)call.count, typeName(call.dtype));
  if (call.op == Op::Broadcast)
    text += formatText(" from place %u", call.root);
  if (call.reduction == Reduction::Max)
    text += " (max)";
  return text;
}
