//===- Library.cpp - Library ops as launches of CUDA kernels --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/launches/Library.h"

#include "kernels/cuda/Faults.cuh"
#include "kernels/cuda/launches/LibraryLaunches.h"

#include <set>

namespace hocket::kernels {

using namespace library;

namespace library {

constexpr KernelError kTooLarge = "too large for one launch on a GPU";

KernelError appendLaunch(std::vector<CudaLaunch> &launches,
                         const LaunchText &text, std::array<int64_t, 3> grid,
                         uint32_t threads, int64_t sharedBytes) {
  constexpr int64_t most[3] = {INT32_MAX, 65535, 65535};
  for (size_t i = 0; i < 3; ++i)
    if (grid[i] > most[i])
      return kTooLarge;
  if (grid[0] > 0 && grid[1] > 0 && grid[2] > 0)
    launches.push_back(text.launch(grid, threads, sharedBytes));
  return nullptr;
}

KernelError addLaunch(CudaCall &call, const LaunchText &text,
                      std::array<int64_t, 3> grid, uint32_t threads,
                      int64_t sharedBytes) {
  return appendLaunch(call.launches, text, grid, threads, sharedBytes);
}

KernelError addLaunch(CudaCall &call, const LaunchText &text, int64_t blocks,
                      uint32_t threads) {
  return addLaunch(call, text, {blocks, 1, 1}, threads);
}

} // namespace library

namespace {

struct Row {
  std::string_view op;
  LaunchFn make;
};

constexpr Row rows[] = {
    {"embedding", launchEmbedding},
    {"embedding_gradient", launchEmbeddingGradient},
    {"embedding_shard", launchEmbedding},
    {"embedding_gradient_shard", launchEmbeddingGradient},
    {"place_rows", launchPlaceRows},
    {"placed_rows_gradient", launchPlacedRowsGradient},
    {"pad_rows", launchPadRows},
    {"accumulate", launchAccumulate},
    {"rope_table", launchRopeTable},
    {"rope_table_shard", launchRopeTable},
    {"rope_table_at", launchRopeTableAt},
    {"positions", launchPositions},
    {"relative_buckets", launchRelativeBuckets},
    {"rope", launchRope},
    {"attention_forward", launchAttentionForward},
    {"attention_backward", launchAttentionBackward},
    {"attention_backward_joint", launchAttentionJoint},
    {"attention_forward_shard", launchAttentionForward},
    {"attention_backward_shard", launchAttentionBackward},
    {"attention_forward_documents", launchAttentionForward},
    {"attention_backward_documents", launchAttentionBackward},
    {"attention_forward_biased", launchAttentionForward},
    {"attention_backward_biased", launchAttentionBackward},
    {"cached_attention", launchCachedAttention},
    {"cached_attention_shard", launchCachedAttention},
    {"cached_attention_biased", launchCachedAttention},
    {"merge_attention", launchMergeAttention},
    {"cross_entropy_forward", launchCrossEntropyForward},
    {"cross_entropy_backward", launchCrossEntropyBackward},
    {"cross_entropy_rows", launchCrossEntropyRows},
    {"cross_entropy_backward_shard", launchCrossEntropyShard},
    {"cross_entropy_joint", launchCrossEntropyJoint},
    {"log_sum_exp", launchLogSumExp},
    {"count_labels", launchCountLabels},
    {"mean_loss", launchMeanLoss},
    {"gather_shards", launchGatherShards},
    {"scatter_shards", launchScatterShards},
    {"slice_shard", launchSliceShard},
    {"insert_rows", launchInsertRows},
    {"shift_rows", launchShiftRows},
    {"join_heads", launchJoinHeads},
    {"sum_heads", launchSumHeads},
    {"transpose", launchTranspose},
    {"quantize_blocks", launchQuantizeBlocks},
    {"dequantize_blocks", launchDequantizeBlocks},
    {"global_norm", launchGlobalNorm},
    {"router", launchRouter},
    {"router_by_sequence", launchRouter},
    {"sinkhorn", launchSinkhorn},
    {"router_gradient", launchRouterGradient},
    {"router_probabilities", launchRouterProbabilities},
    {"router_probabilities_gradient", launchRouterProbabilitiesGradient},
    {"router_z_loss", launchRouterZLoss},
    {"router_z_loss_gradient", launchRouterZLossGradient},
    {"balance_bias", launchBalanceBias},
    {"expert_counts", launchExpertCounts},
    {"expert_order", launchExpertOrder},
    {"pack_segments", launchPackSegments},
    {"dispatch", launchDispatch},
    {"combine", launchCombine},
    {"combine_weight_gradient", launchCombineWeightGradient},
    {"grouped_linear", launchGroupedLinear},
    {"grouped_linear_input_gradient", launchGroupedInputGradient},
    {"grouped_linear_weight_gradient", launchGroupedWeightGradient},
    {"causal_conv", launchCausalConv},
    {"causal_conv_gradient", launchCausalConvGradient},
    {"state_scan", launchStateScan},
    {"state_scan_gradient", launchStateScanGradient},
    {"cached_conv", launchCachedConv},
    {"cached_scan", launchCachedScan},
};

} // namespace

KernelError makeCudaCall(const LibraryOp &op, const CudaRequest &request,
                         CudaCall &call) {
  call = {};
  std::vector<int64_t> bytes(request.buffers);
  if (KernelError error = requiredBytes(op, request.integers, request.floats,
                                        request.scalars, bytes))
    return error;
  for (const Row &row : rows)
    if (row.op == op.name)
      return row.make(request, call);
  return "the op does not run on GPUs";
}

std::string cudaSource(std::span<const CudaLaunch> launches) {
  std::set<std::string_view> headers, symbols;
  std::string text;
  for (const CudaLaunch &launch : launches)
    headers.insert(launch.header);
  for (std::string_view header : headers)
    text += "#include \"" + std::string(header) + "\"\n";
  text += "using namespace hocket::cuda;\n";
  for (const CudaLaunch &launch : launches)
    if (symbols.insert(launch.symbol).second)
      text += "\n" + launch.text;
  return text;
}

KernelError faultText(uint32_t word) {
  switch (static_cast<cuda::Fault>(word)) {
  case cuda::Fault::None:
    return nullptr;
  case cuda::Fault::TokenId:
    return "embedding: a token id is outside the vocabulary";
  case cuda::Fault::Label:
    return "cross_entropy: a label is outside the vocabulary";
  case cuda::Fault::Place:
    return "a shard starts outside of the whole";
  case cuda::Fault::Expert:
    return "experts: a chosen expert does not exist";
  case cuda::Fault::Slot:
    return "experts: a slot is outside the experts' rows";
  case cuda::Fault::Ranges:
    return "experts: ranges overlap or begin before their rows";
  case cuda::Fault::CachePlace:
    return "cached_attention: a token's row, position or page is not in the "
           "cache";
  case cuda::Fault::StatePlace:
    return "state space: a token's row is not in the cache, or it is not the "
           "next token of its row";
  case cuda::Fault::CacheCopy:
    return "a cache is not written in place";
  case cuda::Fault::PlacedRow:
    return "place_rows: a row is not one of its sequence's";
  case cuda::Fault::End:
    break;
  }
  return "a kernel reported what it cannot report: memory was overwritten";
}

} // namespace hocket::kernels
