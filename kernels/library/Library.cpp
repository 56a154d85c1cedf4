//===- Library.cpp - Hand-written kernels by name -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/Library.h"

#include "kernels/library/OpSizes.h"

namespace hocket::kernels {

using namespace library;

// name, least and most buffers, scalars, written buffers, accumulates, sizes
static constexpr LibraryOp table[] = {
    {"embedding", 3, 3, 0, 0b100, false, embeddingSizes},
    {"embedding_gradient", 3, 3, 0, 0b100, true, embeddingGradientSizes},
    {"embedding_shard", 3, 3, 1, 0b100, false, embeddingSizes},
    {"embedding_gradient_shard", 3, 3, 1, 0b100, true, embeddingGradientSizes},
    {"place_rows", 3, 4, 0, 0b1, false, placeRowsSizes},
    {"placed_rows_gradient", 3, 3, 0, 0b1, false, placedRowsGradientSizes},
    {"pad_rows", 2, 2, 0, 0b10, false, padRowsSizes},
    {"accumulate", 2, 2, 0, 0b10, true, accumulateSizes},
    {"rope_table", 1, 1, 0, 0b1, false, ropeTableSizes},
    {"rope_table_shard", 1, 1, 1, 0b1, false, ropeTableShardSizes},
    {"rope_table_at", 2, 2, 0, 0b10, false, ropeTableAtSizes},
    {"positions", 1, 1, 1, 0b1, false, positionsSizes},
    {"relative_buckets", 1, 1, 0, 0b1, false, relativeBucketsSizes},
    {"rope", 3, 3, 0, 0b100, false, ropeSizes},
    {"attention_forward", 5, 5, 3, 0b11000, false, attentionForwardBytes},
    {"attention_backward", 10, 10, 3, 0b1111000000, false,
     attentionBackwardBytes},
    {"attention_backward_joint", 10, 10, 3, 0b1111000000, false,
     attentionBackwardJointBytes},
    {"attention_forward_shard", 5, 5, 7, 0b11000, false,
     attentionForwardShardBytes},
    {"attention_backward_shard", 10, 10, 7, 0b1111000000, false,
     attentionBackwardShardBytes},
    {"attention_forward_documents", 6, 6, 7, 0b110000, false,
     attentionForwardDocumentsBytes},
    {"attention_backward_documents", 11, 11, 7, 0b11110000000, false,
     attentionBackwardDocumentsBytes},
    {"attention_forward_biased", 6, 7, 7, 0b11, false,
     attentionForwardBiasedBytes},
    {"attention_backward_biased", 13, 14, 7, 0b111111, false,
     attentionBackwardBiasedBytes},
    {"cached_attention", 11, 11, 0, 0b11100000000, false, cachedAttentionSizes},
    {"cached_attention_shard", 11, 11, 1, 0b11100000000, false,
     cachedAttentionShardSizes},
    {"cached_attention_biased", 12, 12, 0, 0b111000000000, false,
     cachedAttentionBiasedSizes},
    {"merge_attention", 6, 6, 0, 0b110000, false, mergeAttentionSizes},
    {"cross_entropy_forward", 4, 4, 0, 0b1100, false, crossEntropyForwardSizes},
    {"cross_entropy_backward", 5, 5, 0, 0b10000, false,
     crossEntropyBackwardSizes},
    {"cross_entropy_rows", 4, 4, 1, 0b1100, false, crossEntropyRowsSizes},
    {"cross_entropy_backward_shard", 6, 6, 1, 0b100000, false,
     crossEntropyShardSizes},
    {"cross_entropy_joint", 7, 7, 0, 0b1110000, false, crossEntropyJointSizes},
    {"log_sum_exp", 2, 2, 0, 0b10, false, logSumExpSizes},
    {"count_labels", 2, 2, 0, 0b10, false, countLabelsSizes},
    {"mean_loss", 5, 5, 0, 0b10000, false, meanLossSizes},
    {"gather_shards", 2, 2, 0, 0b10, false, gatherShardsSizes},
    {"scatter_shards", 2, 2, 0, 0b10, false, scatterShardsSizes},
    {"slice_shard", 2, 2, 1, 0b10, false, sliceShardSizes},
    {"insert_rows", 3, 3, 0, 0b100, false, insertRowsSizes},
    {"shift_rows", 2, 2, 0, 0b10, false, shiftRowsSizes},
    {"join_heads", 3, 3, 0, 0b100, false, joinHeadsSizes},
    {"sum_heads", 2, 2, 0, 0b10, false, sumHeadsSizes},
    {"transpose", 2, 2, 0, 0b10, false, transposeSizes},
    {"quantize_blocks", 3, 3, 0, 0b110, false, quantizeBlocksSizes},
    {"dequantize_blocks", 3, 3, 0, 0b100, false, dequantizeBlocksSizes},
    {"global_norm", 2, 2 + kMostTensors, 0, 0b11, false, globalNormSizes},
    {"gemm_pack", 2, 2, 0, 0b10, false, gemmPackSizes},
    {"router", 3, 4, 0, 0b11, false, routerSizes},
    {"router_by_sequence", 4, 4, 0, 0b11, false, routerBySequenceSizes},
    {"sinkhorn", 3, 3, 0, 0b11, false, sinkhornSizes},
    {"router_gradient", 4, 4, 0, 0b1, false, routerGradientSizes},
    {"router_probabilities", 3, 3, 0, 0b11, false, routerProbabilitiesSizes},
    {"router_probabilities_gradient", 3, 3, 0, 0b1, false,
     routerProbabilitiesGradientSizes},
    {"router_z_loss", 3, 3, 0, 0b11, false, routerZLossSizes},
    {"router_z_loss_gradient", 3, 3, 0, 0b1, false, routerZLossGradientSizes},
    {"balance_bias", 4, 4, 0, 0b1, false, balanceBiasSizes},
    {"expert_counts", 2, 2, 0, 0b1, false, expertCountsSizes},
    {"expert_order", 3, 3, 0, 0b11, false, expertOrderSizes},
    {"pack_segments", 2, 2, 0, 0b1, false, packSegmentsSizes},
    {"dispatch", 3, 4, 0, 0b1, false, dispatchSizes},
    {"combine", 3, 4, 0, 0b1, false, combineSizes},
    {"combine_weight_gradient", 4, 4, 0, 0b1, false,
     combineWeightGradientSizes},
    {"grouped_linear", 3, 4, 0, 0b1, false, groupedLinearSizes},
    {"grouped_linear_input_gradient", 3, 4, 0, 0b1, false,
     groupedInputGradientSizes},
    {"grouped_linear_weight_gradient", 3, 4, 0, 0b1, true,
     groupedWeightGradientSizes},
    {"causal_conv", 3, 4, 0, 0b1, false, causalConvSizes},
    {"causal_conv_gradient", 6, 6, 0, 0b111, false, causalConvGradientSizes},
    {"state_scan", 8, 8, 0, 0b1, false, stateScanSizes},
    {"state_scan_gradient", 16, 16, 0, 0b11111111, false,
     stateScanGradientSizes},
    {"cached_conv", 7, 8, 0, 0b11, false, cachedConvSizes},
    {"cached_scan", 12, 12, 0, 0b11, false, cachedScanSizes},
};

std::span<const LibraryOp> libraryOps() { return table; }

const LibraryOp *findLibraryOp(std::string_view name) {
  for (const LibraryOp &op : table)
    if (op.name == name)
      return &op;
  return nullptr;
}

KernelError requiredBytes(const LibraryOp &op,
                          std::span<const int64_t> integers,
                          std::span<const double> floats, size_t scalars,
                          std::span<int64_t> bytes) {
  if (bytes.size() < static_cast<size_t>(op.minBuffers) ||
      bytes.size() > static_cast<size_t>(op.maxBuffers))
    return "wrong number of buffers";
  if (scalars != static_cast<size_t>(op.scalars))
    return "wrong number of scalars";
  return op.sizes(integers, floats, bytes);
}

} // namespace hocket::kernels
