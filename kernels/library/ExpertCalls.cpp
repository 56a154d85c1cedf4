//===- ExpertCalls.cpp - What calls of experts say ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/LibraryCall.h"

namespace hocket::kernels::library {
namespace {

using Integers = std::span<const int64_t>;

int32_t *idsOut(const LibraryCall &call, size_t i) {
  return static_cast<int32_t *>(call.buffers[i]);
}
/// Buffer 3 of a call that may leave it out.
const void *lastOf(const LibraryCall &call) {
  return call.buffers.size() > 3 ? call.buffers[3] : nullptr;
}

RouterShape routerShape(Integers n) {
  RouterShape shape;
  shape.tokens = n[0], shape.experts = n[1];
  return shape;
}

RouterShape choiceShape(const LibraryCall &call) {
  Integers n = call.integers;
  RouterShape shape = routerShape(n);
  shape.topK = n[2], shape.sigmoid = n[3] != 0, shape.renormalise = n[4] != 0;
  shape.scale = call.floats[0];
  return shape;
}

/// Of T, E, sigmoid, sequences.
RouterShape probabilitiesShape(Integers n) {
  RouterShape shape = routerShape(n);
  shape.sigmoid = n[2] != 0, shape.sequences = n[3];
  return shape;
}

SlotShape slotShape(Integers n) {
  return {n[1], n[2], n[3], n[4], n[5], n[6], n[7]};
}

GroupShape groupShape(const LibraryCall &call) {
  Integers n = call.integers;
  return {n[1],
          n[2],
          n[3],
          n[4],
          n[5],
          n[6],
          static_cast<const int32_t *>(lastOf(call))};
}

} // namespace

RouterArguments routerArguments(const LibraryCall &call) {
  Integers n = call.integers;
  RouterArguments args{choiceShape(call),
                       floatsAt(call, 2),
                       static_cast<const float *>(lastOf(call)),
                       floatsAt(call, 0),
                       idsOut(call, 1),
                       n.size() > 7};
  args.shape.groups = n[5], args.shape.topkGroups = n[6];
  if (args.bySequence)
    args.shape.sequences = n[7];
  return args;
}

SinkhornArguments sinkhornArguments(const LibraryCall &call) {
  RouterShape shape = routerShape(call.integers);
  shape.sequences = call.integers[2];
  return {shape, floatsAt(call, 2), static_cast<double *>(call.buffers[1]),
          floatsAt(call, 0)};
}

RouterGradientArguments routerGradientArguments(const LibraryCall &call) {
  return {choiceShape(call), floatsAt(call, 1), floatsAt(call, 2), ids(call, 3),
          floatsAt(call, 0)};
}

RouterProbabilitiesArguments
routerProbabilitiesArguments(const LibraryCall &call) {
  return {probabilitiesShape(call.integers), floatsAt(call, 2),
          floatsAt(call, 0)};
}

RouterProbabilitiesGradientArguments
routerProbabilitiesGradientArguments(const LibraryCall &call) {
  return {probabilitiesShape(call.integers), floatsAt(call, 1),
          floatsAt(call, 2), floatsAt(call, 0)};
}

RouterZLossArguments routerZLossArguments(const LibraryCall &call) {
  return {routerShape(call.integers), floatsAt(call, 2), floatsAt(call, 0)};
}

RouterZLossGradientArguments
routerZLossGradientArguments(const LibraryCall &call) {
  return {routerShape(call.integers), floatsAt(call, 1), floatsAt(call, 2),
          floatsAt(call, 0)};
}

BalanceBiasArguments balanceBiasArguments(const LibraryCall &call) {
  return {call.integers[0],  call.floats[0],    floatsAt(call, 1),
          floatsAt(call, 2), floatsAt(call, 3), floatsAt(call, 0)};
}

ExpertCountsArguments expertCountsArguments(const LibraryCall &call) {
  Integers n = call.integers;
  return {n[0], n[1], n[2], ids(call, 1), floatsAt(call, 0)};
}

ExpertOrderArguments expertOrderArguments(const LibraryCall &call) {
  Integers n = call.integers;
  return {{n[0], n[1], n[2], n[3], n[4], n[5]},
          ids(call, 2),
          idsOut(call, 0),
          idsOut(call, 1)};
}

PackSegmentsArguments packSegmentsArguments(const LibraryCall &call) {
  return {call.integers[0], ids(call, 1), idsOut(call, 0)};
}

/// Of an op that moves rows from one order to the other.
template <class Arguments>
static Arguments movedArguments(const LibraryCall &call) {
  Integers n = call.integers;
  return {slotShape(n),
          n[8],
          view(call, 1, typeOf(n[0])),
          ids(call, 2),
          static_cast<const float *>(lastOf(call)),
          view(call, 0, typeOf(n[0]))};
}

DispatchArguments dispatchArguments(const LibraryCall &call) {
  return movedArguments<DispatchArguments>(call);
}

CombineArguments combineArguments(const LibraryCall &call) {
  return movedArguments<CombineArguments>(call);
}

CombineWeightGradientArguments
combineWeightGradientArguments(const LibraryCall &call) {
  Integers n = call.integers;
  return {slotShape(n),
          n[8],
          view(call, 1, typeOf(n[0])),
          view(call, 2, typeOf(n[0])),
          ids(call, 3),
          floatsAt(call, 0)};
}

GroupedLinearArguments groupedLinearArguments(const LibraryCall &call) {
  DType t = typeOf(call.integers[0]);
  return {groupShape(call), view(call, 1, t), view(call, 2, t),
          view(call, 0, t)};
}

GroupedInputGradientArguments
groupedInputGradientArguments(const LibraryCall &call) {
  DType t = typeOf(call.integers[0]);
  return {groupShape(call), view(call, 1, t), view(call, 2, t),
          view(call, 0, t)};
}

GroupedWeightGradientArguments
groupedWeightGradientArguments(const LibraryCall &call) {
  DType t = typeOf(call.integers[0]);
  return {groupShape(call), view(call, 1, t), view(call, 2, t), f32(call, 0),
          call.accumulate != 0};
}

} // namespace hocket::kernels::library
