//===- Communicator.cpp - Checks that every communicator shares -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/interfaces/Communicator.h"

#include "base/CheckedMath.h"
#include "base/Format.h"

using namespace hocket;
using namespace hocket::comm;

const char *comm::typeName(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::I32:
    return "i32";
  case DType::F64:
    return "f64";
  case DType::F8E4M3:
    return "f8e4m3";
  case DType::F8E5M2:
    return "f8e5m2";
  }
  return "?";
}

static Status checkSum(const char *what, DType dtype) {
  if (dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16 ||
      dtype == DType::I32)
    return okStatus();
  return invalidArgument(
      formatText("%s: elements must be f32, bf16, f16 or i32", what));
}

static Status checkType(const char *what, DType dtype) {
  if (dtype != DType::F64)
    return okStatus();
  return invalidArgument(formatText(
      "%s: elements must be f32, bf16, f16, i32, f8e4m3 or f8e5m2", what));
}

static Status checkPair(const char *what, const void *from, const void *to,
                        uint64_t count, uint64_t ranks, DType dtype) {
  HOCKET_RETURN_IF_ERROR(checkType(what, dtype));
  if (count > 0 && (!from || !to))
    return invalidArgument(formatText("%s: a null pointer", what));
  auto total = checkedMultiply(count, ranks);
  if (!total || !checkedMultiply(*total, kernels::bytesOf(dtype)))
    return invalidArgument(formatText("%s: too many elements", what));
  return okStatus();
}

static Status checkPeer(const char *what, unsigned peer, unsigned size) {
  if (peer < size)
    return okStatus();
  return invalidArgument(
      formatText("%s: rank %u is not in the group of %u", what, peer, size));
}

Status Communicator::allReduce(const void *from, void *to, uint64_t count,
                               DType dtype, Reduction reduction) {
  HOCKET_RETURN_IF_ERROR(checkSum("all_reduce", dtype));
  HOCKET_RETURN_IF_ERROR(checkPair("all_reduce", from, to, count, 1, dtype));
  return doAllReduce(from, to, count, dtype, reduction);
}

Status Communicator::allGather(const void *from, void *to, uint64_t count,
                               DType dtype) {
  HOCKET_RETURN_IF_ERROR(
      checkPair("all_gather", from, to, count, size(), dtype));
  return doAllGather(from, to, count, dtype);
}

Status Communicator::reduceScatter(const void *from, void *to, uint64_t count,
                                   DType dtype, Reduction reduction) {
  HOCKET_RETURN_IF_ERROR(checkSum("reduce_scatter", dtype));
  HOCKET_RETURN_IF_ERROR(
      checkPair("reduce_scatter", from, to, count, size(), dtype));
  return doReduceScatter(from, to, count, dtype, reduction);
}

Status Communicator::allToAll(const void *from, void *to, uint64_t count,
                              DType dtype) {
  HOCKET_RETURN_IF_ERROR(
      checkPair("all_to_all", from, to, count, size(), dtype));
  return doAllToAll(from, to, count, dtype);
}

Status Communicator::allToAllV(const void *from, PeerCounts sends, void *to,
                               PeerCounts receives, DType dtype) {
  HOCKET_RETURN_IF_ERROR(checkType("all_to_all_v", dtype));
  for (const PeerCounts *side : {&sends, &receives})
    if (side->counts.size() != size() || side->offsets.size() != size())
      return invalidArgument(formatText(
          "all_to_all_v: wants counts and offsets for %u ranks", size()));
  for (unsigned peer = 0; peer < size(); ++peer)
    if ((sends.counts[peer] && !from) || (receives.counts[peer] && !to))
      return invalidArgument("all_to_all_v: a null pointer");
  if (sends.counts[rank()] != receives.counts[rank()])
    return invalidArgument(formatText(
        "all_to_all_v: rank %u sends itself %llu elements and receives %llu",
        rank(), (unsigned long long)sends.counts[rank()],
        (unsigned long long)receives.counts[rank()]));
  return doAllToAllV(from, sends, to, receives, dtype);
}

Status Communicator::broadcast(void *data, uint64_t count, DType dtype,
                               unsigned root) {
  HOCKET_RETURN_IF_ERROR(checkPair("broadcast", data, data, count, 1, dtype));
  HOCKET_RETURN_IF_ERROR(checkPeer("broadcast", root, size()));
  return doBroadcast(data, count, dtype, root);
}

Status Communicator::exchange(std::span<const Transfer> transfers) {
  for (const Transfer &transfer : transfers) {
    const char *what = transfer.send ? "send" : "receive";
    HOCKET_RETURN_IF_ERROR(checkPeer(what, transfer.peer, size()));
    HOCKET_RETURN_IF_ERROR(checkPair(what, transfer.data, transfer.data,
                                     transfer.count, 1, transfer.dtype));
  }
  return doExchange(transfers);
}
