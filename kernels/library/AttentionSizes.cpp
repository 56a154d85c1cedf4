//===- AttentionSizes.cpp - Checks of calls of attention ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/library/JointGradient.h"
#include "kernels/library/OpSizes.h"
#include "kernels/reference/Attention.h"
#include "kernels/reference/RelativeBuckets.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace hocket::kernels::library {

namespace {

/// Checks what is told of scores from float `at` on: a softcap of scores that
/// are computed in 32 bits, or none and slopes.
KernelError checkScoreFloats(Floats floats, size_t at) {
  if (floats.size() < at || floats.size() > at + 2)
    return kFloats;
  if (floats.size() == at)
    return nullptr;
  if (hasSlopes(floats, at))
    return floats[at] == 0 && floats[at + 1] == 1
               ? nullptr
               : "slopes are told by 1, behind a softcap of 0";
  auto softcap = static_cast<float>(floats[at]);
  return softcap > 0 && std::isnormal(softcap)
             ? nullptr
             : "a softcap must be positive and finite";
}

/// What forward and backward both check; q, kv and row statistics in bytes.
KernelError attentionSizes(Integers n, Floats floats,
                           std::array<int64_t, 3> &sizes) {
  if (n.size() != 9)
    return kCount;
  if (KernelError error = checkScoreFloats(floats, 2))
    return error;
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

/// As attentionSizes, of a shard: what is whole stands before the stream.
KernelError attentionShardSizes(Integers n, Floats floats,
                                std::array<int64_t, 3> &sizes) {
  if (n.size() != 14 && n.size() != 15)
    return kCount;
  std::array<int64_t, 9> shard;
  std::copy_n(n.begin(), 8, shard.begin());
  shard[8] = n.back();
  if (KernelError error = attentionSizes(shard, floats, sizes))
    return error;
  // Keys, and the whole that random numbers are counted over.
  Size size;
  sizes[1] = size(bytesOf(typeOf(n[0])), {n[1], n[8], n[4], n[5]});
  size(1, {n[1], n[9], n[10], n[10]});
  bool even = isStoredIn(n.first(n.size() - 1), 13, n[11], n[10]);
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

/// As they are without positions, which stand behind the first `inputs`.
template <size_t inputs, size_t count,
          void (*set)(const std::array<int64_t, 3> &, Bytes)>
KernelError documentsBytes(Integers n, Floats floats, Bytes bytes) {
  std::array<int64_t, 3> size;
  if (KernelError error = attentionShardSizes(n, floats, size))
    return error;
  set(size, bytes.first(count));
  std::copy_backward(bytes.begin() + inputs, bytes.begin() + count,
                     bytes.begin() + count + 1);
  bytes[inputs] = n[1] * n[2] * 4;
  return nullptr;
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

} // namespace

KernelError attentionForwardBytes(Integers n, Floats floats, Bytes bytes) {
  return attentionBytes<attentionSizes, setForwardBytes>(n, floats, bytes);
}
KernelError attentionBackwardBytes(Integers n, Floats floats, Bytes bytes) {
  return attentionBytes<attentionSizes, setBackwardBytes>(n, floats, bytes);
}
KernelError attentionBackwardJointBytes(Integers n, Floats floats,
                                        Bytes bytes) {
  if (KernelError error = attentionBackwardBytes(n, floats, bytes))
    return error;
  return isJointGradient(n, floats)
             ? nullptr
             : "no kernel has all gradients of such attention";
}
KernelError attentionForwardShardBytes(Integers n, Floats floats, Bytes bytes) {
  return attentionBytes<attentionShardSizes, setForwardBytes>(n, floats, bytes);
}
KernelError attentionBackwardShardBytes(Integers n, Floats floats,
                                        Bytes bytes) {
  return attentionBytes<attentionShardSizes, setBackwardBytes>(n, floats,
                                                               bytes);
}

/// Of a call with a bias, the sizes of a shard, and of the bias too.
static KernelError biasedSizes(Integers n, Floats floats,
                               std::array<int64_t, 3> &sizes, int64_t &bias) {
  if (n.size() != 16)
    return kCount;
  if (floats.size() != 2)
    return kFloats;
  std::array<int64_t, 15> shard;
  size_t count = n[13] == 1 ? 13 : 14; // One round is left out there.
  std::copy_n(n.begin(), count, shard.begin());
  shard[count] = n.back();
  if (KernelError error =
          attentionShardSizes(Integers(shard).first(count + 1), floats, sizes))
    return error;
  int64_t reach = n[14];
  if (reach < 0 || reach > kMostRelativeDistance)
    return kDimension;
  bias = 4 * (2 * reach + 1) * n[3];
  return nullptr;
}

KernelError attentionForwardBiasedBytes(Integers n, Floats floats,
                                        Bytes bytes) {
  std::array<int64_t, 3> size;
  int64_t bias;
  if (KernelError error = biasedSizes(n, floats, size, bias))
    return error;
  bytes[0] = bytes[2] = size[0];
  bytes[3] = bytes[4] = size[1];
  bytes[1] = size[2], bytes[5] = bias;
  if (bytes.size() > 6)
    bytes[6] = n[1] * n[2] * 4;
  return nullptr;
}

KernelError attentionBackwardBiasedBytes(Integers n, Floats floats,
                                         Bytes bytes) {
  std::array<int64_t, 3> size;
  int64_t bias;
  if (KernelError error = biasedSizes(n, floats, size, bias))
    return error;
  for (size_t i : {0, 6, 9, 11})
    bytes[i] = size[0];
  for (size_t i : {1, 2, 7, 8})
    bytes[i] = size[1];
  bytes[3] = bytes[12] = bias;
  bytes[4] = bytes[10] = size[2];
  Size parts;
  bytes[5] = parts(bias, {n[1], attentionBiasParts(n[2], n[11], n[5])});
  if (bytes.size() > 13)
    bytes[13] = n[1] * n[2] * 4;
  return parts.bad ? kDimension : nullptr;
}

KernelError attentionForwardDocumentsBytes(Integers n, Floats floats,
                                           Bytes bytes) {
  return documentsBytes<3, 5, setForwardBytes>(n, floats, bytes);
}
KernelError attentionBackwardDocumentsBytes(Integers n, Floats floats,
                                            Bytes bytes) {
  return documentsBytes<6, 10, setBackwardBytes>(n, floats, bytes);
}

KernelError cachedAttentionSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != 9)
    return kCount;
  if (KernelError error = checkScoreFloats(floats, 1))
    return error;
  if (!isFloating(n[0]))
    return kDType;
  int64_t element = bytesOf(typeOf(n[0]));
  Size size;
  bytes[0] = bytes[8] = size(element, {n[1], n[2], n[4]});
  bytes[1] = bytes[2] = size(element, {n[1], n[3], n[4]});
  bytes[3] = bytes[4] = size(4, {n[1]});
  bytes[5] = size(4, {n[6], n[7]});
  int64_t cache = size(element, {n[8], kCachePage, n[3], n[4]});
  for (size_t i : {6, 7, 9, 10})
    bytes[i] = cache;
  // Positions are counted in 32 bits.
  size(kCachePage, {n[7]});
  bool fits = n[2] >= 1 && n[3] >= 1 && n[2] % n[3] == 0 && n[4] >= 1 &&
              n[4] <= 512 && n[5] >= 0 && n[5] <= INT32_MAX &&
              n[7] <= INT32_MAX / kCachePage;
  return size.bad || !fits ? kDimension : nullptr;
}

KernelError cachedAttentionShardSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != 10)
    return kCount;
  if (KernelError error = cachedAttentionSizes(n.first(9), floats, bytes))
    return error;
  return n[9] >= n[2] && n[9] <= INT32_MAX ? nullptr : kDimension;
}

KernelError cachedAttentionBiasedSizes(Integers n, Floats floats, Bytes bytes) {
  if (n.size() != 11)
    return kCount;
  if (floats.size() != 1)
    return kFloats;
  if (KernelError error = cachedAttentionSizes(n.first(9), floats, bytes))
    return error;
  if (n[9] != n[2] || n[10] < 0 || n[10] > kMostRelativeDistance)
    return kDimension;
  // Behind what the host says stands the bias, before the results.
  for (size_t i : {11, 10, 9})
    bytes[i] = bytes[i - 1];
  bytes[8] = 4 * (2 * n[10] + 1) * n[2];
  return nullptr;
}

KernelError mergeAttentionSizes(Integers n, Floats floats, Bytes bytes) {
  if (KernelError error = checkCounts(n, 4, floats, 0))
    return error;
  Size size;
  bytes[0] = bytes[2] = bytes[4] = size(4, {n[0], n[1], n[2], n[3]});
  bytes[1] = bytes[3] = bytes[5] = size(4, {n[0], n[2], n[1]});
  return size.bad ? kDimension : nullptr;
}

} // namespace hocket::kernels::library
