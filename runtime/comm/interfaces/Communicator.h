//===- Communicator.h - Collectives between ranks ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A group of `size()` ranks that call the same collectives in the same order
/// with matching sizes. Pointers name memory that the implementation can reach:
/// the host's for `local` and `mpi`, the device's for `nccl`. Counts are in
/// elements. A collective is over when its call returns; on a device, when the
/// stream that it was issued to comes behind it.
///
/// `from` and `to` are the same or do not overlap; the same is allowed where
/// both have as many elements (allReduce, and all of them for one rank).
///
/// Sums are taken in f32 for bf16 and f16 and in rank order, so that the same
/// plan gives the same bits. NCCL adds in an order of its own and rounds on the
/// way, in the same way every time.
///
/// Every call checks its arguments first: a type that is not f32, bf16, f16,
/// i32 or, where nothing is added, an 8-bit float, a rank outside the group, or
/// a null pointer with elements is InvalidArgument on that rank. A peer that is
/// gone is Unavailable.
///
/// One thread of a rank at a time uses its Communicator.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_INTERFACES_COMMUNICATOR_H
#define HOCKET_RUNTIME_COMM_INTERFACES_COMMUNICATOR_H

#include "base/Status.h"
#include "kernels/reference/Element.h"

#include <cstdint>
#include <functional>
#include <span>

namespace hocket::comm {

using kernels::DType;

enum class Reduction { Sum, Max };

/// "f32", "bf16", ...
const char *typeName(DType dtype);

/// What one rank gives to and takes from each peer in allToAllV: count[p]
/// elements at offset[p], p in [0, size()).
struct PeerCounts {
  std::span<const uint64_t> counts;
  std::span<const uint64_t> offsets;
};

/// One send or receive of a group.
struct Transfer {
  bool send = false;
  unsigned peer = 0;
  void *data = nullptr; ///< Read if `send`, else written.
  uint64_t count = 0;
  DType dtype = DType::F32;
  uint32_t tag = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;

  /// Whether memory is the device's, and calls return before they are over.
  virtual bool isOnDevice() const { return false; }

  /// Makes calls of this communicator that may be issued as one.
  virtual Status together(const std::function<Status()> &calls) {
    return calls();
  }

  /// to[i] = reduction over ranks of from[i], i in [0, count).
  Status allReduce(const void *from, void *to, uint64_t count, DType dtype,
                   Reduction reduction);

  /// to[r * count + i] = from[i] of rank r.
  Status allGather(const void *from, void *to, uint64_t count, DType dtype);

  /// to[i] = reduction over ranks of from[rank() * count + i], i in
  /// [0, count).
  Status reduceScatter(const void *from, void *to, uint64_t count, DType dtype,
                       Reduction reduction);

  /// to[r * count + i] = from[rank() * count + i] of rank r.
  Status allToAll(const void *from, void *to, uint64_t count, DType dtype);

  /// What rank r sends to this rank lands at receives.offsets[r]; both sides
  /// name the same count.
  Status allToAllV(const void *from, PeerCounts sends, void *to,
                   PeerCounts receives, DType dtype);

  /// data of every rank = data of `root`.
  Status broadcast(void *data, uint64_t count, DType dtype, unsigned root);

  /// Sends and receives that may proceed in any order; over when all are. A
  /// send matches the receive of its peer with the same tag, count and type;
  /// several with one tag match in order.
  Status exchange(std::span<const Transfer> transfers);

  /// Returns when every rank has called it.
  virtual Status barrier() = 0;

protected:
  virtual Status doAllReduce(const void *from, void *to, uint64_t count,
                             DType dtype, Reduction reduction) = 0;
  virtual Status doAllGather(const void *from, void *to, uint64_t count,
                             DType dtype) = 0;
  virtual Status doReduceScatter(const void *from, void *to, uint64_t count,
                                 DType dtype, Reduction reduction) = 0;
  virtual Status doAllToAll(const void *from, void *to, uint64_t count,
                            DType dtype) = 0;
  virtual Status doAllToAllV(const void *from, PeerCounts sends, void *to,
                             PeerCounts receives, DType dtype) = 0;
  virtual Status doBroadcast(void *data, uint64_t count, DType dtype,
                             unsigned root) = 0;
  virtual Status doExchange(std::span<const Transfer> transfers) = 0;
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_INTERFACES_COMMUNICATOR_H
