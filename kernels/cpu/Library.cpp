//===- Library.cpp - Hand-written kernels by name -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Library.h"

#include "kernels/cpu/Attention.h"
#include "kernels/cpu/CrossEntropy.h"
#include "kernels/cpu/Embedding.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/GlobalNorm.h"
#include "kernels/cpu/LibraryCalls.h"
#include "kernels/cpu/Rope.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace hocket::kernels {

using namespace library;

namespace {

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

KernelError embeddingSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 5, floats, 0))
    return error;
  if (!isFloating(n[0]) || !isFloating(n[1]))
    return kDType;
  Size size;
  bytes[0] = size(4, {n[2]});
  bytes[1] = size(bytesOf(typeOf(n[0])), {n[3], n[4]});
  bytes[2] = size(bytesOf(typeOf(n[1])), {n[2], n[4]});
  return size.bad ? kDimension : nullptr;
}

KernelError runEmbedding(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  EmbeddingArguments args{n[2],
                          n[3],
                          n[4],
                          ids(call, 0),
                          view(call, 1, typeOf(n[0])),
                          view(call, 2, typeOf(n[1]))};
  return embedding(args, workers);
}

KernelError embeddingGradientSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = size(4, {n[1]});
  bytes[1] = size(bytesOf(typeOf(n[0])), {n[1], n[3]});
  bytes[2] = size(4, {n[2], n[3]});
  return size.bad ? kDimension : nullptr;
}

KernelError runEmbeddingGradient(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  EmbeddingGradientArguments args{n[1],
                                  n[2],
                                  n[3],
                                  ids(call, 0),
                                  view(call, 1, typeOf(n[0])),
                                  f32(call, 2),
                                  call.accumulate != 0};
  return embeddingGradient(args, workers);
}

KernelError runEmbeddingPiece(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  EmbeddingArguments args{n[2],
                          n[3],
                          n[4],
                          ids(call, 0),
                          view(call, 1, typeOf(n[0])),
                          view(call, 2, typeOf(n[1])),
                          true,
                          call.scalars[0]};
  return embedding(args, workers);
}

KernelError runEmbeddingGradientPiece(const LibraryCall &call,
                                      Workers &workers) {
  Integers n = call.integers;
  EmbeddingGradientArguments args{n[1],
                                  n[2],
                                  n[3],
                                  ids(call, 0),
                                  view(call, 1, typeOf(n[0])),
                                  f32(call, 2),
                                  call.accumulate != 0,
                                  true,
                                  call.scalars[0]};
  return embeddingGradient(args, workers);
}

KernelError padRowsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 3, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  if (n[1] < 0 || n[2] < n[1] || n[2] > kMostBytes / 4)
    return kDimension;
  bytes[0] = n[1] * bytesOf(typeOf(n[0]));
  bytes[1] = n[2] * bytesOf(typeOf(n[0]));
  return nullptr;
}

KernelError runPadRows(const LibraryCall &call, Workers &) {
  Integers n = call.integers;
  size_t element = bytesOf(typeOf(n[0]));
  std::memmove(at(call, 1), at(call, 0), n[1] * element);
  std::memset(static_cast<char *>(at(call, 1)) + n[1] * element, 0,
              (n[2] - n[1]) * element);
  return nullptr;
}

KernelError accumulateSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = size(bytesOf(typeOf(n[0])), {n[1]});
  bytes[1] = size(4, {n[1]});
  return size.bad ? kDimension : nullptr;
}

KernelError runAccumulate(const LibraryCall &call, Workers &workers) {
  constexpr int64_t chunk = 16384;
  ConstView from = view(call, 0, typeOf(call.integers[0]));
  int64_t count = call.integers[1];
  auto *to = static_cast<float *>(at(call, 1));
  auto add = [&](int64_t task, int) {
    int64_t end = std::min(count, (task + 1) * chunk);
    for (int64_t i = task * chunk; i < end; ++i) {
      float x = static_cast<float>(load(from, i));
      to[i] = call.accumulate != 0 ? to[i] + x : x;
    }
  };
  workers.run((count + chunk - 1) / chunk, add);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Rotary positions
//===----------------------------------------------------------------------===//

KernelError ropeTableSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != 2)
    return kCount;
  Size size;
  bytes[0] = size(4, {n[0], n[1]});
  if (size.bad || n[1] % 2)
    return kDimension;
  return static_cast<int64_t>(floats.size()) == n[1] / 2 ? nullptr : kFloats;
}

KernelError runRopeTable(const LibraryCall &call, Workers &workers) {
  RopeTableArguments args{call.integers[0], call.integers[1],
                          call.floats.data(), f32(call, 0)};
  return ropeTable(args, workers);
}

KernelError ropeSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 6, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = bytes[2] = size(bytesOf(typeOf(n[0])), {n[1], n[2], n[3], n[4]});
  bytes[1] = size(4, {n[2], n[4]});
  bool bad = size.bad || n[4] % 2 || n[3] < 1 || !isFlag(n[5]);
  return bad ? kDimension : nullptr;
}

KernelError runRope(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  RopeArguments args{n[1],         n[2],
                     n[3],         n[4],
                     n[5] != 0,    view(call, 0, typeOf(n[0])),
                     f32(call, 1), view(call, 2, typeOf(n[0]))};
  return rope(args, workers);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// What forward and backward both check; q, kv and row statistics in bytes.
KernelError attentionSizes(Integers n, Floats floats,
                           std::array<int64_t, 3> &sizes) {
  if (n.size() != 9 || floats.size() != 2)
    return n.size() != 9 ? kCount : kFloats;
  if (!isFloating(n[0]))
    return kDType;
  int64_t element = bytesOf(typeOf(n[0]));
  Size size;
  sizes = {size(element, {n[1], n[2], n[3], n[5]}),
           size(element, {n[1], n[2], n[4], n[5]}),
           size(4, {n[1], n[3], n[2]})};
  // The score tensor exists as a count of random numbers only.
  size(1, {n[1], n[3], n[2], n[2]});
  if (size.bad || n[3] < 1 || n[4] < 1 || n[3] % n[4] || n[5] < 1 ||
      n[5] > 512 || !isFlag(n[6]) || n[7] < 0 || n[8] < 0 || n[8] > UINT32_MAX)
    return kDimension;
  if (!(floats[1] >= 0 && floats[1] < 1))
    return "dropout must be at least 0 and less than 1";
  return nullptr;
}

/// As attentionSizes, of a piece: what is whole stands before the stream.
KernelError attentionPieceSizes(Integers n, Floats floats,
                                std::array<int64_t, 3> &sizes) {
  if (n.size() != 14)
    return kCount;
  std::array<int64_t, 9> piece;
  std::copy_n(n.begin(), 8, piece.begin());
  piece[8] = n[13];
  if (KernelError error = attentionSizes(piece, floats, sizes))
    return error;
  // Keys, and the whole that random numbers are counted over.
  Size size;
  sizes[1] = size(bytesOf(typeOf(n[0])), {n[1], n[8], n[4], n[5]});
  size(1, {n[1], n[9], n[10], n[10]});
  bool even = n[11] >= 0 && n[11] <= INT32_MAX &&
              (n[11] == 0 || n[10] % (2 * n[11]) == 0);
  bool within = n[9] >= n[3] && n[10] >= n[2] && n[10] >= n[8];
  bool behind = n[12] >= 0 && (n[12] == 0 || n[12] < n[10]);
  return size.bad || !within || !even || !behind ? kDimension : nullptr;
}

void setForwardBytes(const std::array<int64_t, 3> &size, Bytes bytes) {
  bytes[0] = bytes[3] = size[0];
  bytes[1] = bytes[2] = size[1];
  bytes[4] = size[2];
}

void setBackwardBytes(const std::array<int64_t, 3> &size, Bytes bytes) {
  for (size_t i : {0, 3, 5, 6})
    bytes[i] = size[0];
  for (size_t i : {1, 2, 7, 8})
    bytes[i] = size[1];
  bytes[4] = bytes[9] = size[2];
}

/// `read` finds the sizes among the integers, `set` gives them to the buffers.
template <auto read, auto set>
KernelError attentionBytes(Integers n, Floats floats, Bytes bytes) {
  std::array<int64_t, 3> size;
  if (KernelError error = read(n, floats, size))
    return error;
  set(size, bytes);
  return nullptr;
}

AttentionShape attentionShape(const LibraryCall &call) {
  Integers n = call.integers;
  AttentionShape shape;
  shape.batch = n[1], shape.queries = shape.keys = n[2], shape.heads = n[3];
  shape.kvHeads = n[4], shape.headDim = n[5];
  shape.causal = n[6] != 0, shape.window = n[7];
  shape.scale = static_cast<float>(call.floats[0]);
  shape.dropout = static_cast<float>(call.floats[1]);
  shape.random = {static_cast<uint64_t>(call.scalars[0]),
                  static_cast<uint32_t>(n.back()),
                  static_cast<uint32_t>(call.scalars[1])};
  shape.elementBase = call.scalars[2];
  if (n.size() == 9)
    return shape;
  AttentionPlace &place = shape.place;
  shape.keys = n[8];
  place.heads = n[9], place.sequence = n[10], place.part = n[11];
  place.firstQuery = call.scalars[3], place.firstKey = call.scalars[4];
  // Around the end of the sequence; the call refuses what is out of range.
  if (n[12] > 0 && place.firstKey >= 0 && place.firstKey < n[10])
    place.firstKey = (place.firstKey + n[10] - n[12]) % n[10];
  place.firstSequence = call.scalars[5], place.firstHead = call.scalars[6];
  return shape;
}

KernelError runAttentionForward(const LibraryCall &call, Workers &workers) {
  DType t = typeOf(call.integers[0]);
  AttentionForwardArguments args{attentionShape(call), view(call, 0, t),
                                 view(call, 1, t),     view(call, 2, t),
                                 view(call, 3, t),     f32(call, 4)};
  return attentionForward(args, workers);
}

KernelError runAttentionBackward(const LibraryCall &call, Workers &workers) {
  DType t = typeOf(call.integers[0]);
  AttentionBackwardArguments args{
      attentionShape(call), view(call, 0, t), view(call, 1, t),
      view(call, 2, t),     view(call, 3, t), f32(call, 4),
      view(call, 5, t),     view(call, 6, t), view(call, 7, t),
      view(call, 8, t),     f32(call, 9)};
  return attentionBackward(args, workers);
}

//===----------------------------------------------------------------------===//
// Cross-entropy
//===----------------------------------------------------------------------===//

KernelError crossEntropySizes(Integers n, Floats floats, int64_t &logits,
                              int64_t &rows) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  logits = size(bytesOf(typeOf(n[0])), {n[1], n[2]});
  rows = size(4, {n[1]});
  return size.bad || n[3] < 1 || n[3] > n[2] ? kDimension : nullptr;
}

KernelError crossEntropyForwardSizes(Integers n, Floats floats, Bytes bytes) {
  bytes[2] = 4;
  KernelError error = crossEntropySizes(n, floats, bytes[0], bytes[1]);
  bytes[3] = bytes[1];
  return error;
}

KernelError crossEntropyBackwardSizes(Integers n, Floats floats, Bytes bytes) {
  bytes[3] = 4;
  KernelError error = crossEntropySizes(n, floats, bytes[0], bytes[1]);
  bytes[2] = bytes[1];
  bytes[4] = bytes[0];
  return error;
}

KernelError runCrossEntropyForward(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  CrossEntropyForwardArguments args{
      n[1],         n[2],         n[3],        view(call, 0, typeOf(n[0])),
      ids(call, 1), f32(call, 2), f32(call, 3)};
  return crossEntropyForward(args, workers);
}

KernelError runCrossEntropyBackward(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  CrossEntropyBackwardArguments args{
      n[1],         n[2],         n[3],         view(call, 0, typeOf(n[0])),
      ids(call, 1), f32(call, 2), f32(call, 3), view(call, 4, typeOf(n[0]))};
  return crossEntropyBackward(args, workers);
}

//===----------------------------------------------------------------------===//
// Global norm
//===----------------------------------------------------------------------===//

constexpr int kMostTensors = 1 << 16;

KernelError globalNormSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != (bytes.size() - 2) * 2 || !floats.empty())
    return floats.empty() ? kCount : kFloats;
  bytes[0] = bytes[1] = 4;
  for (size_t i = 2; i < bytes.size(); ++i) {
    int64_t dtype = n[2 * i - 4], count = n[2 * i - 3];
    if (!isFloating(dtype))
      return kDType;
    if (count < 0 || count > kMostBytes / 4)
      return kDimension;
    bytes[i] = count * bytesOf(typeOf(dtype));
  }
  return nullptr;
}

KernelError runGlobalNorm(const LibraryCall &call, Workers &workers) {
  size_t count = call.buffers.size() - 2;
  std::unique_ptr<GlobalNormArguments::Tensor[]> tensors(
      new GlobalNormArguments::Tensor[count]);
  for (size_t i = 0; i < count; ++i)
    tensors[i] = {view(call, i + 2, typeOf(call.integers[2 * i])),
                  call.integers[2 * i + 1]};
  GlobalNormArguments args{{tensors.get(), count}, f32(call, 0), f32(call, 1)};
  return globalNorm(args, workers);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

KernelError gemmPackSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  bytes[0] = size(bytesOf(typeOf(n[0])), {n[1], n[2]});
  if (size.bad || !isFlag(n[3]))
    return kDimension;
  bytes[1] = packedBytes(typeOf(n[0]), n[1], n[2]);
  return nullptr;
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

// name, run, least and most buffers, scalars, written buffers, accumulates,
// sizes
constexpr LibraryOp table[] = {
    {"embedding", runEmbedding, 3, 3, 0, 0b100, false, embeddingSizes},
    {"embedding_gradient", runEmbeddingGradient, 3, 3, 0, 0b100, true,
     embeddingGradientSizes},
    {"embedding_piece", runEmbeddingPiece, 3, 3, 1, 0b100, false,
     embeddingSizes},
    {"embedding_gradient_piece", runEmbeddingGradientPiece, 3, 3, 1, 0b100,
     true, embeddingGradientSizes},
    {"pad_rows", runPadRows, 2, 2, 0, 0b10, false, padRowsSizes},
    {"accumulate", runAccumulate, 2, 2, 0, 0b10, true, accumulateSizes},
    {"rope_table", runRopeTable, 1, 1, 0, 0b1, false, ropeTableSizes},
    {"rope_table_piece", runRopeTablePiece, 1, 1, 1, 0b1, false,
     ropeTablePieceSizes},
    {"positions", runPositions, 1, 1, 1, 0b1, false, positionsSizes},
    {"rope", runRope, 3, 3, 0, 0b100, false, ropeSizes},
    {"attention_forward", runAttentionForward, 5, 5, 3, 0b11000, false,
     attentionBytes<attentionSizes, setForwardBytes>},
    {"attention_backward", runAttentionBackward, 10, 10, 3, 0b1111000000, false,
     attentionBytes<attentionSizes, setBackwardBytes>},
    {"attention_forward_piece", runAttentionForward, 5, 5, 7, 0b11000, false,
     attentionBytes<attentionPieceSizes, setForwardBytes>},
    {"attention_backward_piece", runAttentionBackward, 10, 10, 7, 0b1111000000,
     false, attentionBytes<attentionPieceSizes, setBackwardBytes>},
    {"merge_attention", runMergeAttention, 6, 6, 0, 0b110000, false,
     mergeAttentionSizes},
    {"cross_entropy_forward", runCrossEntropyForward, 4, 4, 0, 0b1100, false,
     crossEntropyForwardSizes},
    {"cross_entropy_backward", runCrossEntropyBackward, 5, 5, 0, 0b10000, false,
     crossEntropyBackwardSizes},
    {"cross_entropy_rows", runCrossEntropyRows, 4, 4, 1, 0b1100, false,
     crossEntropyRowsSizes},
    {"cross_entropy_backward_piece", runCrossEntropyPiece, 6, 6, 1, 0b100000,
     false, crossEntropyPieceSizes},
    {"log_sum_exp", runLogSumExp, 2, 2, 0, 0b10, false, logSumExpSizes},
    {"count_labels", runCountLabels, 2, 2, 0, 0b10, false, countLabelsSizes},
    {"mean_loss", runMeanLoss, 5, 5, 0, 0b10000, false, meanLossSizes},
    {"gather_pieces", runGatherPieces, 2, 2, 0, 0b10, false, gatherPiecesSizes},
    {"scatter_pieces", runScatterPieces, 2, 2, 0, 0b10, false,
     scatterPiecesSizes},
    {"slice_piece", runSlicePiece, 2, 2, 1, 0b10, false, slicePieceSizes},
    {"global_norm", runGlobalNorm, 2, 2 + kMostTensors, 0, 0b11, false,
     globalNormSizes},
    {"gemm_pack", runGemmPack, 2, 2, 0, 0b10, false, gemmPackSizes},
    {"router", runRouter, 3, 4, 0, 0b11, false, routerSizes},
    {"router_gradient", runRouterGradient, 4, 4, 0, 0b1, false,
     routerGradientSizes},
    {"router_probabilities", runRouterProbabilities, 3, 3, 0, 0b11, false,
     routerProbabilitiesSizes},
    {"router_probabilities_gradient", runRouterProbabilitiesGradient, 3, 3, 0,
     0b1, false, routerProbabilitiesGradientSizes},
    {"router_z_loss", runRouterZLoss, 3, 3, 0, 0b11, false, routerZLossSizes},
    {"router_z_loss_gradient", runRouterZLossGradient, 3, 3, 0, 0b1, false,
     routerZLossGradientSizes},
    {"balance_bias", runBalanceBias, 4, 4, 0, 0b1, false, balanceBiasSizes},
    {"expert_counts", runExpertCounts, 2, 2, 0, 0b1, false, expertCountsSizes},
    {"expert_order", runExpertOrder, 3, 3, 0, 0b11, false, expertOrderSizes},
    {"dispatch", runDispatch, 3, 4, 0, 0b1, false, dispatchSizes},
    {"combine", runCombine, 3, 4, 0, 0b1, false, combineSizes},
    {"combine_weight_gradient", runCombineWeightGradient, 4, 4, 0, 0b1, false,
     combineWeightGradientSizes},
    {"grouped_linear", runGroupedLinear, 3, 4, 0, 0b1, false,
     groupedLinearSizes},
    {"grouped_linear_input_gradient", runGroupedInputGradient, 3, 4, 0, 0b1,
     false, groupedInputGradientSizes},
    {"grouped_linear_weight_gradient", runGroupedWeightGradient, 3, 4, 0, 0b1,
     true, groupedWeightGradientSizes},
};

} // namespace

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
