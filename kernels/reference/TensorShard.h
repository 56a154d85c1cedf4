//===- TensorShard.h - Where a shard's elements stand -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Random numbers are counted over whole tensors (Philox.h), so what draws them
/// for a shard must know where in the whole each of its elements stands. A
/// shard starts somewhere in some of its dims; the others are whole. Columns 4
/// and 5 of a [3, 8]:
///
///   shard = [3, 2], whole = [3, 8], dims = [1], parts = [0], starts = [4]
///
/// A dim whose part p is not 0 is not stored in order but in parts of p rows
/// that are dealt out in `rounds` (Positions.h), and starts count in that
/// order. Rows 2, 3, 4, 5 of 8, the second pair of parts of 2:
///
///   shard = [4], whole = [8], dims = [0], parts = [2], starts = [4]
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_TENSORSHARD_H
#define HOCKET_KERNELS_REFERENCE_TENSORSHARD_H

#include "kernels/reference/Positions.h"

#include <cstdint>
#include <span>

namespace hocket::kernels {

using Sizes = std::span<const int64_t>;

/// What is known of a shard before it runs. `shard` and `whole` have a size
/// for each dim; `dims` are those that it has a start in, in ascending order,
/// with one of `parts` each; all that are stored in parts are dealt out in as
/// many rounds.
struct ShardShape {
  Sizes shard, whole, dims, parts;
  int64_t rounds = 1;
};

/// What is wrong with a shard, or null.
inline const char *shardError(const ShardShape &p) {
  if (p.whole.size() != p.shard.size())
    return "the whole tensor has as many dims as its shard";
  if (p.parts.size() != p.dims.size())
    return "there is a length of parts for each dim with a start";
  int64_t room = int64_t(1) << 48;
  size_t next = 0;
  bool isOrdered = true;
  for (size_t dim = 0; dim < p.shard.size(); ++dim) {
    int64_t size = p.shard[dim], whole = p.whole[dim];
    if (size < 1 || size > whole)
      return "a shard has at least one element in each dim, and at most all";
    if ((room /= whole) < 1)
      return "the whole tensor has at most 2^48 elements";
    if (next == p.dims.size() || p.dims[next] != static_cast<int64_t>(dim)) {
      if (size != whole)
        return "a dim without a start is whole";
      continue;
    }
    int64_t part = p.parts[next++];
    if (part != 0 && !isStorable(part, p.rounds, whole))
      return "a dim consists of an even number of parts in every round";
    isOrdered &= part == 0;
  }
  if (isOrdered && p.rounds != 1)
    return "there are rounds of parts alone";
  return next == p.dims.size()
             ? nullptr
             : "starts are in dims of the tensor, in ascending order";
}

/// The place in the whole tensor of element `element` of the shard, both
/// row-major; one of `starts` for each of `dims`.
inline int64_t wholeElement(const ShardShape &p, Sizes starts,
                            int64_t element) {
  int64_t result = 0, stride = 1;
  size_t next = p.dims.size();
  for (size_t dim = p.shard.size(); dim-- > 0;) {
    int64_t at = element % p.shard[dim];
    element /= p.shard[dim];
    if (next > 0 && p.dims[next - 1] == static_cast<int64_t>(dim)) {
      --next;
      at = storedPosition(starts[next] + at, p.parts[next], p.rounds,
                          p.whole[dim]);
    }
    result += at * stride;
    stride *= p.whole[dim];
  }
  return result;
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_TENSORSHARD_H
