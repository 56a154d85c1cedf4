//===- ExpertSizes.cpp - Checks of calls of experts -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/OpSizes.h"

#include "kernels/reference/Router.h"

namespace hocket::kernels::library {

namespace {

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

/// Whether so many sequences cut `rows`.
static bool areSequences(int64_t sequences, int64_t rows) {
  return sequences >= 1 && rows % sequences == 0;
}

KernelError routerBySequenceSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 8, floats, 1))
    return error;
  if (KernelError error = routerSizes(n.first(7), floats, bytes.first(3)))
    return error;
  Size size;
  bytes[3] = size(4, {n[7], n[1]});
  return !size.bad && areSequences(n[7], n[0]) ? nullptr : kDimension;
}

KernelError sinkhornSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 3, floats, 0))
    return error;
  if (KernelError error = logitsSize(n, bytes[2]))
    return error;
  if (!areSequences(n[2], n[0]))
    return kDimension;
  Size size;
  bytes[0] = size(4, {n[2], n[1]});
  bytes[1] = size(8, {n[0] + n[2], n[1] + 1});
  return size.bad ? kDimension : nullptr;
}

KernelError routerGradientSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 5, floats, 1))
    return error;
  KernelError error = choiceSize(n, bytes[0], bytes[1]);
  bytes[2] = bytes[0];
  bytes[3] = bytes[1];
  return error;
}

KernelError routerProbabilitiesSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (KernelError error = logitsSize(n, bytes[2]))
    return error;
  Size size;
  bytes[0] = size(4, {n[3], n[1]});
  bytes[1] = size(8, {n[3], kRouterParts, n[1]});
  return !size.bad && isFlag(n[2]) && areSequences(n[3], n[0]) ? nullptr
                                                               : kDimension;
}

KernelError routerProbabilitiesGradientSizes(Integers n, Floats floats,
                                             Bytes bytes) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  if (KernelError error = logitsSize(n, bytes[0]))
    return error;
  Size size;
  bytes[1] = size(4, {n[3], n[1]});
  bytes[2] = bytes[0];
  return !size.bad && isFlag(n[2]) && areSequences(n[3], n[0]) ? nullptr
                                                               : kDimension;
}

KernelError routerZLossSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  bytes[0] = 4;
  bytes[1] = 8 * kRouterParts;
  return logitsSize(n, bytes[2]);
}

KernelError routerZLossGradientSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 2, floats, 0))
    return error;
  KernelError error = logitsSize(n, bytes[0]);
  bytes[1] = 4;
  bytes[2] = bytes[0];
  return error;
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

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

KernelError expertCountsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 3, floats, 0))
    return error;
  Size size;
  bytes[0] = size(4, {n[2], n[1]});
  bytes[1] = size(4, {n[0]});
  return size.bad || !isExperts(n[1]) || !areSequences(n[2], n[0]) ? kDimension
                                                                   : nullptr;
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

KernelError packSegmentsSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 1, floats, 0))
    return error;
  Size size;
  bytes[0] = bytes[1] = size(4, {n[0], 2});
  return size.bad || n[0] < 1 ? kDimension : nullptr;
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

} // namespace

namespace {
/// Of an op that moves rows: its result, and what it reads.
template <auto to, auto from>
KernelError movedBytes(Integers n, Floats floats, Bytes bytes) {
  SlotSizes sizes{};
  KernelError error = slotSizes(n, floats, sizes);
  bytes[0] = sizes.*to;
  bytes[1] = sizes.*from;
  bytes[2] = sizes.slots;
  if (bytes.size() > 3)
    bytes[3] = sizes.slots;
  return error;
}
} // namespace

KernelError dispatchSizes(Integers n, Floats floats, Bytes bytes) {
  return movedBytes<&SlotSizes::rows, &SlotSizes::tokens>(n, floats, bytes);
}

KernelError combineSizes(Integers n, Floats floats, Bytes bytes) {
  return movedBytes<&SlotSizes::tokens, &SlotSizes::rows>(n, floats, bytes);
}

KernelError combineWeightGradientSizes(Integers n, Floats floats, Bytes bytes) {
  SlotSizes sizes{};
  KernelError error = slotSizes(n, floats, sizes);
  bytes[0] = bytes[3] = sizes.slots;
  bytes[1] = sizes.tokens;
  bytes[2] = sizes.rows;
  return error;
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {

/// What one of the GEMMs takes, in bytes.
struct GroupSizes {
  int64_t outputs, inputs, weights, widenedWeights;
};

KernelError groupSizes(Integers n, Floats floats, Bytes bytes,
                       GroupSizes &sizes) {
  if (KernelError error = checkCounts(n, 8, floats, 0))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  Size size;
  int64_t element = bytesOf(typeOf(n[0]));
  sizes = {size(element, {n[1], n[2]}), size(element, {n[1], n[3]}),
           size(element, {n[4], n[2], n[3]}), size(4, {n[4], n[2], n[3]})};
  bool ranged = bytes.size() > 3;
  if (ranged)
    bytes[3] = size(4, {n[5], n[6], 2});
  bool bad = size.bad || n[2] < 1 || n[3] < 1 || !isExperts(n[4]) || n[5] < 1 ||
             n[1] % n[5] || n[6] < n[4] || n[6] % n[4] || n[7] < 0 ||
             n[7] > n[1] ||
             (!ranged && (n[5] != 1 || n[6] != n[4] || n[1] % n[4]));
  return bad ? kDimension : nullptr;
}

/// Of one GEMM: its result, and what it reads.
template <auto result, auto first, auto second>
KernelError gemmBytes(Integers n, Floats floats, Bytes bytes) {
  GroupSizes sizes{};
  KernelError error = groupSizes(n, floats, bytes, sizes);
  bytes[0] = sizes.*result;
  bytes[1] = sizes.*first;
  bytes[2] = sizes.*second;
  return error;
}

} // namespace

KernelError groupedLinearSizes(Integers n, Floats floats, Bytes bytes) {
  using Of = GroupSizes;
  return gemmBytes<&Of::outputs, &Of::inputs, &Of::weights>(n, floats, bytes);
}

KernelError groupedInputGradientSizes(Integers n, Floats floats, Bytes bytes) {
  using Of = GroupSizes;
  return gemmBytes<&Of::inputs, &Of::outputs, &Of::weights>(n, floats, bytes);
}

KernelError groupedWeightGradientSizes(Integers n, Floats floats, Bytes bytes) {
  using Of = GroupSizes;
  return gemmBytes<&Of::widenedWeights, &Of::outputs, &Of::inputs>(n, floats,
                                                                   bytes);
}

} // namespace hocket::kernels::library
