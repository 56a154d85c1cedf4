//===- DenseCalls.cpp - What calls of dense models say --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/Library.h"
#include "kernels/library/LibraryCall.h"

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

EmbeddingArguments embeddingArguments(const LibraryCall &call) {
  Integers n = call.integers;
  bool shard = !call.scalars.empty();
  return {n[2],
          n[3],
          n[4],
          ids(call, 0),
          view(call, 1, typeOf(n[0])),
          view(call, 2, typeOf(n[1])),
          shard,
          shard ? call.scalars[0] : 0};
}

EmbeddingGradientArguments embeddingGradientArguments(const LibraryCall &call) {
  Integers n = call.integers;
  bool shard = !call.scalars.empty();
  return {n[1],
          n[2],
          n[3],
          ids(call, 0),
          view(call, 1, typeOf(n[0])),
          f32(call, 2),
          call.accumulate != 0,
          shard,
          shard ? call.scalars[0] : 0};
}

static PlacedRowsShape placedRowsShape(Integers n) {
  return {n[1], n[2], n[3], n[4]};
}

PlaceRowsArguments placeRowsArguments(const LibraryCall &call) {
  DType type = typeOf(call.integers[0]);
  return {placedRowsShape(call.integers), ids(call, 1), view(call, 2, type),
          call.integers[5] != 0 ? view(call, 3, type) : View(),
          view(call, 0, type)};
}

PlacedRowsGradientArguments
placedRowsGradientArguments(const LibraryCall &call) {
  DType type = typeOf(call.integers[0]);
  return {placedRowsShape(call.integers), ids(call, 1), view(call, 2, type),
          view(call, 0, type)};
}

RopeTableArguments ropeTableArguments(const LibraryCall &call) {
  Integers n = call.integers;
  RopeTableArguments args{n[0], n[1], call.floats.data(),
                          f32(call, call.buffers.size() - 1)};
  if (call.buffers.size() == 2)
    args.positions = ids(call, 0);
  if (n.size() > 2)
    args.first = call.scalars[0], args.part = n[3],
    args.rounds = roundsAt(n, 4), args.whole = n[2];
  return args;
}

RopeArguments ropeArguments(const LibraryCall &call) {
  Integers n = call.integers;
  DType type = typeOf(n[0]);
  return {n[1],
          n[2],
          n[3],
          n[4],
          n[6],
          n[5] != 0,
          view(call, 0, type),
          f32(call, 1),
          view(call, 2, type)};
}

static BlockShape blockShape(Integers n) {
  return {n[2], n[3], n[4], n[5], n[6]};
}

QuantizeBlocksArguments quantizeBlocksArguments(const LibraryCall &call) {
  Integers n = call.integers;
  return {blockShape(n), view(call, 0, typeOf(n[0])),
          view(call, 1, typeOf(n[1])), floatsAt(call, 2)};
}

DequantizeBlocksArguments dequantizeBlocksArguments(const LibraryCall &call) {
  Integers n = call.integers;
  return {blockShape(n), view(call, 0, typeOf(n[0])), floatsAt(call, 1),
          view(call, 2, typeOf(n[1]))};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static AttentionShape attentionShape(const LibraryCall &call) {
  Integers n = call.integers;
  AttentionShape shape;
  shape.batch = n[1], shape.queries = shape.keys = n[2], shape.heads = n[3];
  shape.kvHeads = n[4], shape.headDim = n[5];
  shape.causal = n[6] != 0, shape.window = n[7];
  shape.scale = static_cast<float>(call.floats[0]);
  shape.softcap = static_cast<float>(softcapAt(call.floats, 2));
  shape.alibi = hasSlopes(call.floats, 2);
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
  place.rounds = attentionRounds(n);
  place.firstQuery = call.scalars[3], place.firstKey = call.scalars[4];
  // Around the end of the sequence; the call refuses what is out of range.
  if (n[12] > 0 && place.firstKey >= 0 && place.firstKey < n[10])
    place.firstKey = (place.firstKey + n[10] - n[12]) % n[10];
  place.firstSequence = call.scalars[5], place.firstHead = call.scalars[6];
  return shape;
}

/// With `skipped` buffers of another kind behind those that are read.
static AttentionForwardArguments forwardArguments(const LibraryCall &call,
                                                  size_t skipped) {
  DType t = typeOf(call.integers[0]);
  return {attentionShape(call),       view(call, 0, t),
          view(call, 1, t),           view(call, 2, t),
          view(call, 3 + skipped, t), f32(call, 4 + skipped)};
}

static AttentionBackwardArguments backwardArguments(const LibraryCall &call,
                                                    size_t skipped) {
  DType t = typeOf(call.integers[0]);
  return {attentionShape(call),       view(call, 0, t),
          view(call, 1, t),           view(call, 2, t),
          view(call, 3, t),           f32(call, 4),
          view(call, 5, t),           view(call, 6 + skipped, t),
          view(call, 7 + skipped, t), view(call, 8 + skipped, t),
          f32(call, 9 + skipped)};
}

AttentionForwardArguments attentionForwardArguments(const LibraryCall &call) {
  return forwardArguments(call, 0);
}

AttentionBackwardArguments attentionBackwardArguments(const LibraryCall &call) {
  return backwardArguments(call, 0);
}

AttentionForwardArguments
attentionForwardDocumentsArguments(const LibraryCall &call) {
  AttentionForwardArguments args = forwardArguments(call, 1);
  args.shape.positions = static_cast<const int32_t *>(at(call, 3));
  return args;
}

AttentionBackwardArguments
attentionBackwardDocumentsArguments(const LibraryCall &call) {
  AttentionBackwardArguments args = backwardArguments(call, 1);
  args.shape.positions = static_cast<const int32_t *>(at(call, 6));
  return args;
}

/// The bias of a call, which buffer `bias` is, and positions, if there are any.
static AttentionShape biasedShape(const LibraryCall &call, size_t bias) {
  AttentionShape shape = attentionShape(call);
  shape.bias = floatsAt(call, bias);
  shape.reach = attentionReach(call.integers);
  if (call.buffers.size() > bias + 1)
    shape.positions = ids(call, bias + 1);
  return shape;
}

AttentionForwardArguments
attentionForwardBiasedArguments(const LibraryCall &call) {
  DType t = typeOf(call.integers[0]);
  return {biasedShape(call, 5), view(call, 2, t), view(call, 3, t),
          view(call, 4, t),     view(call, 0, t), f32(call, 1)};
}

AttentionBackwardArguments
attentionBackwardBiasedArguments(const LibraryCall &call) {
  DType t = typeOf(call.integers[0]);
  AttentionBackwardArguments args = {
      biasedShape(call, 12), view(call, 6, t), view(call, 7, t),
      view(call, 8, t),      view(call, 9, t), f32(call, 10),
      view(call, 11, t),     view(call, 0, t), view(call, 1, t),
      view(call, 2, t),      f32(call, 4)};
  args.dBias = floatsAt(call, 3), args.biasParts = floatsAt(call, 5);
  return args;
}

CachedAttentionArguments cachedAttentionArguments(const LibraryCall &call) {
  Integers n = call.integers;
  DType t = typeOf(n[0]);
  bool isBiased = n.size() == 11;
  size_t first = isBiased ? 9 : 8; // Of what it gives.
  return {n[1],
          n[2],
          n[3],
          n[4],
          n[5],
          static_cast<float>(call.floats[0]),
          static_cast<float>(softcapAt(call.floats, 1)),
          hasSlopes(call.floats, 1),
          call.scalars.empty() ? 0 : call.scalars[0],
          n.size() > 9 ? n[9] : 0,
          n[6],
          n[7],
          n[8],
          view(call, 0, t),
          view(call, 1, t),
          view(call, 2, t),
          ids(call, 3),
          ids(call, 4),
          ids(call, 5),
          view(call, first, t),
          view(call, first + 1, t),
          view(call, first + 2, t),
          isBiased ? floatsAt(call, 8) : nullptr,
          isBiased ? n[10] : 0};
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

CrossEntropyForwardArguments
crossEntropyForwardArguments(const LibraryCall &call) {
  Integers n = call.integers;
  return {n[1],         n[2],         n[3],        view(call, 0, typeOf(n[0])),
          ids(call, 1), f32(call, 2), f32(call, 3)};
}

CrossEntropyBackwardArguments
crossEntropyBackwardArguments(const LibraryCall &call) {
  Integers n = call.integers;
  bool shard = !call.scalars.empty();
  CrossEntropyBackwardArguments args{
      n[1],         n[2],
      n[3],         view(call, 0, typeOf(n[0])),
      ids(call, 1), f32(call, 2),
      f32(call, 3), view(call, shard ? 5 : 4, typeOf(n[0]))};
  if (shard)
    args.firstColumn = call.scalars[0], args.count = f32(call, 4);
  return args;
}

CrossEntropyRowsArguments crossEntropyRowsArguments(const LibraryCall &call) {
  Integers n = call.integers;
  return {n[1],
          n[2],
          n[3],
          n[4],
          call.scalars[0],
          view(call, 0, typeOf(n[0])),
          ids(call, 1),
          f32(call, 2),
          f32(call, 3)};
}

CrossEntropyJointArguments crossEntropyJointArguments(const LibraryCall &call) {
  Integers n = call.integers;
  DType t = typeOf(n[0]);
  return {n[1],         n[2],
          n[3],         view(call, 0, t),
          ids(call, 1), f32(call, 2),
          f32(call, 3), f32(call, 4),
          f32(call, 5), view(call, 6, t)};
}

MeanLossArguments meanLossArguments(const LibraryCall &call) {
  return {call.integers[0], f32(call, 0),       f32(call, 1),
          ids(call, 2),     *floatsAt(call, 3), f32(call, 4)};
}

std::vector<GlobalNormArguments::Tensor>
globalNormTensors(const LibraryCall &call) {
  std::vector<GlobalNormArguments::Tensor> tensors(call.buffers.size() - 2);
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i] = {view(call, i + 2, typeOf(call.integers[2 * i])),
                  call.integers[2 * i + 1]};
  return tensors;
}

} // namespace hocket::kernels::library
