//===- Library.cpp - Library ops on the CPU -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Library.h"

#include "kernels/cpu/Attention.h"
#include "kernels/cpu/CrossEntropy.h"
#include "kernels/cpu/Embedding.h"
#include "kernels/cpu/Experts.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/GlobalNorm.h"
#include "kernels/cpu/LibraryCalls.h"
#include "kernels/cpu/PlacedRows.h"
#include "kernels/cpu/QuantizeBlocks.h"
#include "kernels/cpu/Rope.h"
#include "kernels/cpu/Router.h"
#include "kernels/cpu/StateSpace.h"

namespace hocket::kernels {

using namespace library;

namespace {

/// Calls `kernel` with the arguments that `read` finds in the call.
template <auto kernel, auto read>
KernelError runs(const LibraryCall &call, Workers &workers) {
  return kernel(read(call), workers);
}

/// The same of a reference: few numbers, so that it is the only version.
template <auto kernel, auto read>
KernelError runsAlone(const LibraryCall &call, Workers &) {
  return kernel(read(call));
}

//===----------------------------------------------------------------------===//
// Ops with workspaces or arguments of their own
//===----------------------------------------------------------------------===//

KernelError runMeanLoss(const LibraryCall &call, Workers &) {
  reference::meanLoss(meanLossArguments(call));
  return nullptr;
}

KernelError runGlobalNorm(const LibraryCall &call, Workers &workers) {
  std::vector<GlobalNormArguments::Tensor> tensors = globalNormTensors(call);
  return globalNorm({tensors, f32(call, 0), f32(call, 1)}, workers);
}

KernelError runRouterProbabilities(const LibraryCall &call, Workers &workers) {
  return routerProbabilities(routerProbabilitiesArguments(call),
                             static_cast<double *>(at(call, 1)), workers);
}

KernelError runRouterZLoss(const LibraryCall &call, Workers &workers) {
  return routerZLoss(routerZLossArguments(call),
                     static_cast<double *>(at(call, 1)), workers);
}

KernelError runGemmPack(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  GemmPackArguments args{n[1], n[2], n[3] != 0, view(call, 0, typeOf(n[0])),
                         at(call, 1)};
  return gemmPack(args, workers);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct Row {
  std::string_view name;
  KernelError (*run)(const LibraryCall &call, Workers &workers);
};

constexpr Row table[] = {
    {"embedding", runs<embedding, embeddingArguments>},
    {"embedding_gradient", runs<embeddingGradient, embeddingGradientArguments>},
    {"embedding_shard", runs<embedding, embeddingArguments>},
    {"embedding_gradient_shard",
     runs<embeddingGradient, embeddingGradientArguments>},
    {"place_rows", runs<placeRows, placeRowsArguments>},
    {"placed_rows_gradient",
     runs<placedRowsGradient, placedRowsGradientArguments>},
    {"pad_rows", runPadRows},
    {"accumulate", runAccumulate},
    {"rope_table", runs<ropeTable, ropeTableArguments>},
    {"rope_table_shard", runRopeTableShard},
    {"rope_table_at", runs<ropeTable, ropeTableArguments>},
    {"positions", runPositions},
    {"relative_buckets", runRelativeBuckets},
    {"rope", runs<rope, ropeArguments>},
    {"attention_forward", runs<attentionForward, attentionForwardArguments>},
    {"attention_backward", runs<attentionBackward, attentionBackwardArguments>},
    {"attention_backward_joint",
     runs<attentionBackward, attentionBackwardArguments>},
    {"attention_forward_shard",
     runs<attentionForward, attentionForwardArguments>},
    {"attention_backward_shard",
     runs<attentionBackward, attentionBackwardArguments>},
    {"attention_forward_documents",
     runs<attentionForward, attentionForwardDocumentsArguments>},
    {"attention_backward_documents",
     runs<attentionBackward, attentionBackwardDocumentsArguments>},
    {"attention_forward_biased",
     runs<attentionForward, attentionForwardBiasedArguments>},
    {"attention_backward_biased",
     runs<attentionBackward, attentionBackwardBiasedArguments>},
    {"cached_attention", runCachedAttention},
    {"cached_attention_shard", runCachedAttention},
    {"cached_attention_biased", runCachedAttention},
    {"merge_attention", runMergeAttention},
    {"cross_entropy_forward",
     runs<crossEntropyForward, crossEntropyForwardArguments>},
    {"cross_entropy_backward",
     runs<crossEntropyBackward, crossEntropyBackwardArguments>},
    {"cross_entropy_rows", runs<crossEntropyRows, crossEntropyRowsArguments>},
    {"cross_entropy_backward_shard",
     runs<crossEntropyBackward, crossEntropyBackwardArguments>},
    {"cross_entropy_joint",
     runs<crossEntropyJoint, crossEntropyJointArguments>},
    {"log_sum_exp", runLogSumExp},
    {"count_labels", runCountLabels},
    {"mean_loss", runMeanLoss},
    {"gather_shards", runGatherShards},
    {"scatter_shards", runScatterShards},
    {"slice_shard", runSliceShard},
    {"insert_rows", runInsertRows},
    {"shift_rows", runShiftRows},
    {"join_heads", runJoinHeads},
    {"sum_heads", runSumHeads},
    {"transpose", runTranspose},
    {"quantize_blocks", runs<quantizeBlocks, quantizeBlocksArguments>},
    {"dequantize_blocks", runs<dequantizeBlocks, dequantizeBlocksArguments>},
    {"global_norm", runGlobalNorm},
    {"gemm_pack", runGemmPack},
    {"router", runs<router, routerArguments>},
    {"router_by_sequence", runs<router, routerArguments>},
    {"sinkhorn", runs<sinkhorn, sinkhornArguments>},
    {"router_gradient", runs<routerGradient, routerGradientArguments>},
    {"router_probabilities", runRouterProbabilities},
    {"router_probabilities_gradient",
     runs<routerProbabilitiesGradient, routerProbabilitiesGradientArguments>},
    {"router_z_loss", runRouterZLoss},
    {"router_z_loss_gradient",
     runs<routerZLossGradient, routerZLossGradientArguments>},
    {"balance_bias", runsAlone<reference::balanceBias, balanceBiasArguments>},
    {"expert_counts",
     runsAlone<reference::expertCounts, expertCountsArguments>},
    {"expert_order", runsAlone<reference::expertOrder, expertOrderArguments>},
    {"pack_segments",
     runsAlone<reference::packSegments, packSegmentsArguments>},
    {"dispatch", runs<dispatch, dispatchArguments>},
    {"combine", runs<combine, combineArguments>},
    {"combine_weight_gradient",
     runs<combineWeightGradient, combineWeightGradientArguments>},
    {"grouped_linear", runs<groupedLinear, groupedLinearArguments>},
    {"grouped_linear_input_gradient",
     runs<groupedLinearInputGradient, groupedInputGradientArguments>},
    {"grouped_linear_weight_gradient",
     runs<groupedLinearWeightGradient, groupedWeightGradientArguments>},
    {"causal_conv", runs<causalConv, causalConvArguments>},
    {"causal_conv_gradient",
     runs<causalConvGradient, causalConvGradientArguments>},
    {"state_scan", runs<stateScan, stateScanArguments>},
    {"state_scan_gradient",
     runs<stateScanGradient, stateScanGradientArguments>},
    {"cached_conv", runCachedConv},
    {"cached_scan", runCachedScan},
};

} // namespace

KernelError runLibraryOp(const LibraryOp &op, const LibraryCall &call,
                         Workers &workers) {
  // Both tables have one order, which a test pins.
  auto row = static_cast<size_t>(&op - libraryOps().data());
  if (row >= std::size(table) || table[row].name != op.name)
    return "the op does not run on CPUs";
  return table[row].run(call, workers);
}

} // namespace hocket::kernels
