//===- PipelineCollectives.cpp - What pipeline ranks exchange -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/Lowering.h"

#include "base/AxisKind.h"
using namespace mlir;

namespace hocket::kern {

/// The axis of the pipeline, restricted to some of its places.
static ArrayAttr pipelineAxis(OpBuilder &builder, ArrayRef<int64_t> ranks) {
  return builder.getStrArrayAttr({placesName(AxisKind::Pipeline, ranks)});
}

Values lower(OpBuilder &builder, pipe::AllReduceOp op) {
  return {builder.create<CollectiveOp>(
      op.getLoc(), op.getResult().getType(), CollectiveKind::AllReduce,
      op.getInput(), pipelineAxis(builder, op.getRanks()),
      builder.getStringAttr("several stages use the parameter"))};
}

Values lower(OpBuilder &builder, pipe::AllGatherOp op) {
  return {builder.create<CollectiveOp>(
      op.getLoc(), op.getResult().getType(), CollectiveKind::AllGather,
      op.getInput(), pipelineAxis(builder, op.getRanks()),
      builder.getStringAttr("the gradient norm is that of all stages"))};
}

} // namespace hocket::kern
