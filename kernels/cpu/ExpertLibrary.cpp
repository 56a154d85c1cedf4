//===- ExpertLibrary.cpp - The library's mixtures of experts --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Experts.h"
#include "kernels/cpu/LibraryCalls.h"
#include "kernels/cpu/Router.h"

namespace hocket::kernels::library {
namespace {

const float *floatsAt(const LibraryCall &call, size_t i) {
  return static_cast<const float *>(call.buffers[i]);
}
float *floatsOut(const LibraryCall &call, size_t i) {
  return static_cast<float *>(call.buffers[i]);
}
int32_t *idsOut(const LibraryCall &call, size_t i) {
  return static_cast<int32_t *>(call.buffers[i]);
}
/// Buffer 3 of a call that may leave it out.
const void *lastOf(const LibraryCall &call) {
  return call.buffers.size() > 3 ? call.buffers[3] : nullptr;
}

bool isExperts(int64_t experts) {
  return experts >= 1 && experts <= kMostExperts;
}

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// Of T, E: the bytes of logits.
KernelError logitsSize(Integers n, int64_t &logits) {
  Size size;
  logits = size(4, {n[0], n[1]});
  return size.bad || !isExperts(n[1]) ? kDimension : nullptr;
}

/// Of T, E, k, sigmoid, renormalise.
KernelError choiceSize(Integers n, int64_t &logits, int64_t &choice) {
  if (KernelError error = logitsSize(n, logits))
    return error;
  Size size;
  choice = size(4, {n[0], n[2]});
  bool bad =
      size.bad || n[2] < 1 || n[2] > n[1] || !isFlag(n[3]) || !isFlag(n[4]);
  return bad ? kDimension : nullptr;
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

/// Of T, E, sigmoid.
RouterShape probabilitiesShape(Integers n) {
  RouterShape shape = routerShape(n);
  shape.sigmoid = n[2] != 0;
  return shape;
}

} // namespace

KernelError routerSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 7, floats, 1))
    return error;
  if (KernelError error = choiceSize(n, bytes[2], bytes[0]))
    return error;
  bytes[1] = bytes[0];
  if (bytes.size() > 3)
    bytes[3] = 4 * n[1];
  bool bad = n[5] < 1 || n[1] % n[5] || n[6] < 1 || n[6] > n[5] ||
             n[2] > n[1] / n[5] * n[6];
  return bad ? kDimension : nullptr;
}

KernelError runRouter(const LibraryCall &call, Workers &workers) {
  RouterArguments args{choiceShape(call), floatsAt(call, 2),
                       static_cast<const float *>(lastOf(call)),
                       floatsOut(call, 0), idsOut(call, 1)};
  args.shape.groups = call.integers[5];
  args.shape.topkGroups = call.integers[6];
  return router(args, workers);
}

KernelError routerGradientSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 5, floats, 1))
    return error;
  KernelError error = choiceSize(n, bytes[0], bytes[1]);
  bytes[2] = bytes[0];
  bytes[3] = bytes[1];
  return error;
}

KernelError runRouterGradient(const LibraryCall &call, Workers &workers) {
  RouterGradientArguments args{choiceShape(call), floatsAt(call, 1),
                               floatsAt(call, 2), ids(call, 3),
                               floatsOut(call, 0)};
  return routerGradient(args, workers);
}

KernelError routerProbabilitiesSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 3, floats, 0))
    return error;
  if (KernelError error = logitsSize(n, bytes[2]))
    return error;
  bytes[0] = 4 * n[1];
  bytes[1] = 8 * kRouterParts * n[1];
  return isFlag(n[2]) ? nullptr : kDimension;
}

KernelError runRouterProbabilities(const LibraryCall &call, Workers &workers) {
  RouterProbabilitiesArguments args{probabilitiesShape(call.integers),
                                    floatsAt(call, 2), floatsOut(call, 0)};
  return routerProbabilities(args, static_cast<double *>(at(call, 1)), workers);
}

KernelError routerProbabilitiesGradientSizes(Integers n, Floats floats,
                                             Bytes bytes) {
  if (KernelError error = checkCounts(n, 3, floats, 0))
    return error;
  if (KernelError error = logitsSize(n, bytes[0]))
    return error;
  bytes[1] = 4 * n[1];
  bytes[2] = bytes[0];
  return isFlag(n[2]) ? nullptr : kDimension;
}

KernelError runRouterProbabilitiesGradient(const LibraryCall &call,
                                           Workers &workers) {
  RouterProbabilitiesGradientArguments args{
      probabilitiesShape(call.integers), floatsAt(call, 1), floatsAt(call, 2),
      floatsOut(call, 0)};
  return routerProbabilitiesGradient(args, workers);
}

KernelError routerZLossSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  bytes[0] = 4;
  bytes[1] = 8 * kRouterParts;
  return logitsSize(n, bytes[2]);
}

KernelError runRouterZLoss(const LibraryCall &call, Workers &workers) {
  RouterZLossArguments args{routerShape(call.integers), floatsAt(call, 2),
                            floatsOut(call, 0)};
  return routerZLoss(args, static_cast<double *>(at(call, 1)), workers);
}

KernelError routerZLossGradientSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  KernelError error = logitsSize(n, bytes[0]);
  bytes[1] = 4;
  bytes[2] = bytes[0];
  return error;
}

KernelError runRouterZLossGradient(const LibraryCall &call, Workers &workers) {
  RouterZLossGradientArguments args{routerShape(call.integers),
                                    floatsAt(call, 1), floatsAt(call, 2),
                                    floatsOut(call, 0)};
  return routerZLossGradient(args, workers);
}

KernelError balanceBiasSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 1, floats, 1))
    return error;
  if (!isExperts(n[0]))
    return kDimension;
  bytes[0] = bytes[1] = bytes[2] = 4 * n[0];
  bytes[3] = 4;
  return nullptr;
}

KernelError runBalanceBias(const LibraryCall &call, Workers &) {
  BalanceBiasArguments args{call.integers[0],  call.floats[0],
                            floatsAt(call, 1), floatsAt(call, 2),
                            floatsAt(call, 3), floatsOut(call, 0)};
  return reference::balanceBias(args);
}

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

KernelError expertCountsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  Size size;
  bytes[0] = size(4, {n[1]});
  bytes[1] = size(4, {n[0]});
  return size.bad || !isExperts(n[1]) ? kDimension : nullptr;
}

KernelError runExpertCounts(const LibraryCall &call, Workers &) {
  ExpertCountsArguments args{call.integers[0], call.integers[1], ids(call, 1),
                             floatsOut(call, 0)};
  return reference::expertCounts(args);
}

/// Whether `runs` runs cut a batch: one with a capacity.
static bool areRuns(int64_t runs, int64_t batch, int64_t capacity) {
  return runs >= 1 && batch % runs == 0 && (capacity == 0 || runs == 1);
}

KernelError expertOrderSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 6, floats, 0))
    return error;
  Size size;
  bytes[0] = bytes[2] = size(4, {n[0], n[1], n[2]});
  bytes[1] = size(4, {n[5], n[3], 2});
  // Slots are 32-bit.
  bool bad = size.bad || n[2] < 1 || !isExperts(n[3]) || n[4] < 0 ||
             n[4] > INT32_MAX / n[3] || bytes[0] / 4 > INT32_MAX ||
             !areRuns(n[5], n[0], n[4]);
  return bad ? kDimension : nullptr;
}

KernelError runExpertOrder(const LibraryCall &call, Workers &) {
  Integers n = call.integers;
  ExpertOrderArguments args{{n[0], n[1], n[2], n[3], n[4], n[5]},
                            ids(call, 2),
                            idsOut(call, 0),
                            idsOut(call, 1)};
  return reference::expertOrder(args);
}

namespace {

/// What one of the calls between tokens and rows takes, in bytes.
struct SlotSizes {
  int64_t tokens, rows, slots;
};

KernelError slotSizes(Integers n, Floats floats, SlotSizes &sizes) {
  if (KernelError error = checkCounts(n, 9, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  sizes = {size(element, {n[1], n[2], n[8]}), size(element, {n[7], n[8]}),
           size(4, {n[1], n[2], n[3]})};
  bool bad = size.bad || n[2] < 1 || n[3] < 1 || !isExperts(n[4]) || n[5] < 0 ||
             n[5] > INT32_MAX / n[4] || !areRuns(n[6], n[1], n[5]) ||
             n[7] % n[6];
  if (!bad && n[5] > 0)
    bad = n[7] != size(1, {n[4], n[1], n[5]}) || size.bad;
  return bad ? kDimension : nullptr;
}

SlotShape slotShape(Integers n) {
  return {n[1], n[2], n[3], n[4], n[5], n[6], n[7]};
}

} // namespace

KernelError dispatchSizes(Integers n, Floats floats, Bytes bytes) {
  SlotSizes sizes{};
  KernelError error = slotSizes(n, floats, sizes);
  bytes[0] = sizes.rows;
  bytes[1] = sizes.tokens;
  bytes[2] = sizes.slots;
  if (bytes.size() > 3)
    bytes[3] = sizes.slots;
  return error;
}

KernelError runDispatch(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  DispatchArguments args{slotShape(n),
                         n[8],
                         view(call, 1, typeOf(n[0])),
                         ids(call, 2),
                         static_cast<const float *>(lastOf(call)),
                         view(call, 0, typeOf(n[0]))};
  return dispatch(args, workers);
}

KernelError combineSizes(Integers n, Floats floats, Bytes bytes) {
  SlotSizes sizes{};
  KernelError error = slotSizes(n, floats, sizes);
  bytes[0] = sizes.tokens;
  bytes[1] = sizes.rows;
  bytes[2] = sizes.slots;
  if (bytes.size() > 3)
    bytes[3] = sizes.slots;
  return error;
}

KernelError runCombine(const LibraryCall &call, Workers &workers) {
  Integers n = call.integers;
  CombineArguments args{slotShape(n),
                        n[8],
                        view(call, 1, typeOf(n[0])),
                        ids(call, 2),
                        static_cast<const float *>(lastOf(call)),
                        view(call, 0, typeOf(n[0]))};
  return combine(args, workers);
}

KernelError combineWeightGradientSizes(Integers n, Floats floats, Bytes bytes) {
  SlotSizes sizes{};
  KernelError error = slotSizes(n, floats, sizes);
  bytes[0] = bytes[3] = sizes.slots;
  bytes[1] = sizes.tokens;
  bytes[2] = sizes.rows;
  return error;
}

KernelError runCombineWeightGradient(const LibraryCall &call,
                                     Workers &workers) {
  Integers n = call.integers;
  CombineWeightGradientArguments args{slotShape(n),
                                      n[8],
                                      view(call, 1, typeOf(n[0])),
                                      view(call, 2, typeOf(n[0])),
                                      ids(call, 3),
                                      floatsOut(call, 0)};
  return combineWeightGradient(args, workers);
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {

/// What one of the products takes, in bytes.
struct GroupSizes {
  int64_t outputs, inputs, weights, widenedWeights;
};

KernelError groupSizes(Integers n, Floats floats, Bytes bytes,
                       GroupSizes &sizes) {
  if (KernelError error = checkCounts(n, 6, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  sizes = {size(element, {n[1], n[2]}), size(element, {n[1], n[3]}),
           size(element, {n[4], n[2], n[3]}), size(4, {n[4], n[2], n[3]})};
  bool ranged = bytes.size() > 3;
  if (ranged)
    bytes[3] = size(4, {n[5], n[4], 2});
  bool bad = size.bad || n[2] < 1 || n[3] < 1 || !isExperts(n[4]) || n[5] < 1 ||
             n[1] % n[5] || (!ranged && (n[5] != 1 || n[1] % n[4]));
  return bad ? kDimension : nullptr;
}

GroupShape groupShape(const LibraryCall &call) {
  Integers n = call.integers;
  return {n[1], n[2], n[3],
          n[4], n[5], static_cast<const int32_t *>(lastOf(call))};
}

} // namespace

KernelError groupedLinearSizes(Integers n, Floats floats, Bytes bytes) {
  GroupSizes sizes{};
  KernelError error = groupSizes(n, floats, bytes, sizes);
  bytes[0] = sizes.outputs;
  bytes[1] = sizes.inputs;
  bytes[2] = sizes.weights;
  return error;
}

KernelError runGroupedLinear(const LibraryCall &call, Workers &workers) {
  DType t = typeOf(call.integers[0]);
  GroupedLinearArguments args{groupShape(call), view(call, 1, t),
                              view(call, 2, t), view(call, 0, t)};
  return groupedLinear(args, workers);
}

KernelError groupedInputGradientSizes(Integers n, Floats floats, Bytes bytes) {
  GroupSizes sizes{};
  KernelError error = groupSizes(n, floats, bytes, sizes);
  bytes[0] = sizes.inputs;
  bytes[1] = sizes.outputs;
  bytes[2] = sizes.weights;
  return error;
}

KernelError runGroupedInputGradient(const LibraryCall &call, Workers &workers) {
  DType t = typeOf(call.integers[0]);
  GroupedInputGradientArguments args{groupShape(call), view(call, 1, t),
                                     view(call, 2, t), view(call, 0, t)};
  return groupedLinearInputGradient(args, workers);
}

KernelError groupedWeightGradientSizes(Integers n, Floats floats, Bytes bytes) {
  GroupSizes sizes{};
  KernelError error = groupSizes(n, floats, bytes, sizes);
  bytes[0] = sizes.widenedWeights;
  bytes[1] = sizes.outputs;
  bytes[2] = sizes.inputs;
  return error;
}

KernelError runGroupedWeightGradient(const LibraryCall &call,
                                     Workers &workers) {
  DType t = typeOf(call.integers[0]);
  GroupedWeightGradientArguments args{groupShape(call), view(call, 1, t),
                                      view(call, 2, t), f32(call, 0),
                                      call.accumulate != 0};
  return groupedLinearWeightGradient(args, workers);
}

} // namespace hocket::kernels::library
