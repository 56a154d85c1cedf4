//===- WholeElements.cpp - Elements of a shard in the whole ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/loops/WholeElements.h"

#include <numeric>

using namespace mlir;

namespace hocket::loops {

WholeElements::WholeElements(kern::KeepScaleOp op) {
  kern::ShardAttr attribute = op.getShardAttr();
  if (!attribute)
    return;
  ArrayRef<int64_t> shard = attribute.getShape(), whole = attribute.getWhole();
  ArrayRef<int64_t> starts = attribute.getDims();
  total = 1;
  int start = static_cast<int>(starts.size()) - 1;
  for (size_t i = shard.size(); i-- > 0;) {
    Dim dim{shard[i], total, whole[i], 1};
    if (!dims.empty() && dims.back().start < 0) {
      Dim joined = dims.pop_back_val();
      dim = {shard[i] * joined.extent, joined.stride, whole[i] * joined.extent,
             joined.extent};
    }
    if (start >= 0 && starts[start] == static_cast<int64_t>(i)) {
      dim.part = attribute.getParts()[start] * dim.inner;
      dim.rounds = attribute.getRounds();
      dim.start = start--;
    }
    dims.push_back(dim);
    total *= whole[i];
  }
}

int64_t WholeElements::run() const {
  if (dims.empty())
    return INT64_MAX;
  const Dim &dim = dims.front();
  return dim.part > 0 ? std::gcd(dim.part, dim.extent) : dim.extent;
}

bool WholeElements::keepsBlocks() const {
  for (const Dim &dim : dims)
    if ((dim.start >= 0 && dim.inner * dim.stride % 4 != 0) ||
        (dim.stride != 1 && dim.stride % 4 != 0))
      return false;
  return total % 4 == 0 && (dims.empty() || run() % 4 == 0);
}

} // namespace hocket::loops
