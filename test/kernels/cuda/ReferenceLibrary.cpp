//===- ReferenceLibrary.cpp - Library ops by the reference ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/kernels/cuda/ReferenceLibrary.h"

#include "kernels/cpu/Library.h"
#include "test/kernels/TestWorkers.h"

namespace hocket::kernels::test {
namespace {

using namespace library;

template <auto function, auto read> KernelError runs(const LibraryCall &call) {
  return function(read(call));
}

KernelError runGlobalNorm(const LibraryCall &call) {
  std::vector<GlobalNormArguments::Tensor> tensors = globalNormTensors(call);
  return reference::globalNorm(
      {tensors, library::f32(call, 0), library::f32(call, 1)});
}

KernelError runTranspose(const LibraryCall &call) {
  int64_t rows = call.integers[1], columns = call.integers[2];
  for (int64_t i = 0; i < rows * columns; ++i)
    static_cast<char *>(at(call, 1))[i % columns * rows + i / columns] =
        static_cast<const char *>(at(call, 0))[i];
  return nullptr;
}

struct Row {
  std::string_view op;
  KernelError (*run)(const LibraryCall &call);
};

constexpr Row table[] = {
    {"embedding", runs<reference::embedding, embeddingArguments>},
    {"embedding_shard", runs<reference::embedding, embeddingArguments>},
    {"embedding_gradient",
     runs<reference::embeddingGradient, embeddingGradientArguments>},
    {"embedding_gradient_shard",
     runs<reference::embeddingGradient, embeddingGradientArguments>},
    {"place_rows", runs<reference::placeRows, placeRowsArguments>},
    {"placed_rows_gradient",
     runs<reference::placedRowsGradient, placedRowsGradientArguments>},
    {"rope_table", runs<reference::ropeTable, ropeTableArguments>},
    {"rope_table_shard", runs<reference::ropeTable, ropeTableArguments>},
    {"rope", runs<reference::rope, ropeArguments>},
    {"attention_forward",
     runs<reference::attentionForward, attentionForwardArguments>},
    {"attention_forward_shard",
     runs<reference::attentionForward, attentionForwardArguments>},
    {"attention_backward",
     runs<reference::attentionBackward, attentionBackwardArguments>},
    {"attention_backward_joint",
     runs<reference::attentionBackward, attentionBackwardArguments>},
    {"attention_backward_shard",
     runs<reference::attentionBackward, attentionBackwardArguments>},
    {"attention_forward_documents",
     runs<reference::attentionForward, attentionForwardDocumentsArguments>},
    {"attention_backward_documents",
     runs<reference::attentionBackward, attentionBackwardDocumentsArguments>},
    {"attention_forward_biased",
     runs<reference::attentionForward, attentionForwardBiasedArguments>},
    {"attention_backward_biased",
     runs<reference::attentionBackward, attentionBackwardBiasedArguments>},
    {"cached_attention",
     runs<reference::cachedAttention, cachedAttentionArguments>},
    {"cached_attention_biased",
     runs<reference::cachedAttention, cachedAttentionArguments>},
    {"cross_entropy_forward",
     runs<reference::crossEntropyForward, crossEntropyForwardArguments>},
    {"cross_entropy_backward",
     runs<reference::crossEntropyBackward, crossEntropyBackwardArguments>},
    {"cross_entropy_backward_shard",
     runs<reference::crossEntropyBackward, crossEntropyBackwardArguments>},
    {"cross_entropy_rows",
     runs<reference::crossEntropyRows, crossEntropyRowsArguments>},
    {"cross_entropy_joint",
     runs<reference::crossEntropyJoint, crossEntropyJointArguments>},
    {"transpose", runTranspose},
    {"global_norm", runGlobalNorm},
    {"router", runs<reference::router, routerArguments>},
    {"router_by_sequence", runs<reference::router, routerArguments>},
    {"sinkhorn", runs<reference::sinkhorn, sinkhornArguments>},
    {"router_gradient",
     runs<reference::routerGradient, routerGradientArguments>},
    {"router_probabilities",
     runs<reference::routerProbabilities, routerProbabilitiesArguments>},
    {"router_probabilities_gradient",
     runs<reference::routerProbabilitiesGradient,
          routerProbabilitiesGradientArguments>},
    {"router_z_loss", runs<reference::routerZLoss, routerZLossArguments>},
    {"router_z_loss_gradient",
     runs<reference::routerZLossGradient, routerZLossGradientArguments>},
    {"balance_bias", runs<reference::balanceBias, balanceBiasArguments>},
    {"expert_counts", runs<reference::expertCounts, expertCountsArguments>},
    {"expert_order", runs<reference::expertOrder, expertOrderArguments>},
    {"pack_segments", runs<reference::packSegments, packSegmentsArguments>},
    {"dispatch", runs<reference::dispatch, dispatchArguments>},
    {"combine", runs<reference::combine, combineArguments>},
    {"combine_weight_gradient",
     runs<reference::combineWeightGradient, combineWeightGradientArguments>},
    {"grouped_linear", runs<reference::groupedLinear, groupedLinearArguments>},
    {"grouped_linear_input_gradient",
     runs<reference::groupedLinearInputGradient,
          groupedInputGradientArguments>},
    {"grouped_linear_weight_gradient",
     runs<reference::groupedLinearWeightGradient,
          groupedWeightGradientArguments>},
    {"causal_conv", runs<reference::causalConv, causalConvArguments>},
    {"causal_conv_gradient",
     runs<reference::causalConvGradient, causalConvGradientArguments>},
    {"state_scan", runs<reference::stateScan, stateScanArguments>},
    {"state_scan_gradient",
     runs<reference::stateScanGradient, stateScanGradientArguments>},
    {"cached_conv", runs<reference::cachedConv, cachedConvArguments>},
    {"cached_scan", runs<reference::cachedScan, cachedScanArguments>},
};

} // namespace

KernelError runReference(const LibraryOp &op, const LibraryCall &call) {
  for (const Row &row : table)
    if (row.op == op.name)
      return row.run(call);
  TestWorkers workers(1);
  return runLibraryOp(op, call, workers);
}

} // namespace hocket::kernels::test
