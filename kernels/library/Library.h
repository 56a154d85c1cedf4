//===- Library.h - Hand-written kernels by name -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Hand-written kernels by name, as a compiled program calls them: flat lists
/// of buffers and numbers. This is the contract; kernels/cpu/Library.h and
/// kernels/cuda/launches/Library.h implement it. `dtype` integers are those of
/// DType. All tensors are dense and row-major; [..] is a shape; "out" marks
/// what is written. Dimensions are at least 0 (headDim, heads: at least 1).
///
/// embedding           buffers: ids i32[T], table[V, H], out[T, H] (out)
///                     integers: table dtype, out dtype, T, V, H
/// embedding_gradient  buffers: ids i32[T], dy[T, H], dtable f32[V, H] (out)
///                     integers: dy dtype, T, V, H; accumulates
/// embedding_shard     as embedding, of a shard of a table; scalars: first row
/// embedding_gradient_shard  as embedding_gradient; scalars: first row
/// place_rows          buffers: out[B, S, H] (out), rows i32[B, S],
///                     x[B, S, H], source[B, R, H] (may be left out: zeros)
///                     integers: dtype, B, S, R, H, 1 with a source, else 0
///                     (kernels/reference/PlacedRows.h)
/// placed_rows_gradient  buffers: dsource[B, R, H] (out), rows i32[B, S],
///                     dy[B, S, H]; integers: dtype, B, S, R, H
/// pad_rows            buffers: x[m], y[n] (out): x, then zeros
///                     integers: dtype, m, n
/// accumulate          buffers: x[n], y f32[n] (out): y = x, or y + x
///                     integers: x dtype, n; accumulates
/// rope_table          buffers: table f32[S, d/2, 2] (out)
///                     integers: S, d; floats: d/2 radians per position
/// rope_table_shard    buffers: table f32[S, d/2, 2] (out), of a shard
///                     integers: S, d, whole sequence, part, rounds (left
///                     out if 1); floats: d/2 radians per position; scalars:
///                     first row
/// rope_table_at       buffers: positions i32[T], table f32[T, d/2, 2] (out)
///                     integers: T, d; floats: d/2 radians per position
/// positions           buffers: result i32[S] (out) (kernels/reference/
///                     Positions.h)
///                     integers: S, whole sequence, part, rounds (left out
///                     if 1); scalars: first row
/// relative_buckets    buffers: result i32[2 R + 1] (out)
///                     integers: buckets, R, both directions (0 or 1)
///                     (kernels/reference/RelativeBuckets.h)
/// rope                buffers: x[B, S, n, d], table f32[S, r/2, 2],
///                     y[B, S, n, d] (out; may be x)
///                     integers: dtype, B, S, n, d, inverse (0 or 1), r <= d
/// attention_forward   buffers: q[B, S, n, d], k[B, S, g, d], v[B, S, g, d],
///                     o[B, S, n, d] (out), lse f32[B, n, S] (out)
///                     integers: dtype, B, S, n, g, d, causal (0 or 1),
///                     window (0: none), random stream
///                     floats: scale, dropout p, softcap, 1 if there are
///                     slopes (both left out if there are none); scalars:
///                     seed, step, element base
/// attention_backward  buffers: q, k, v, o, lse, do[B, S, n, d],
///                     dq, dk, dv (out; as q, k, v), delta f32[B, n, S] (out:
///                     workspace)
///                     integers, floats, scalars: as attention_forward
/// attention_backward_joint
///                     as attention_backward, where it isJointGradient()
///                     (JointGradient.h)
/// attention_forward_shard, attention_backward_shard
///                     as attention_forward and attention_backward of a shard
///                     of more: q, o [B, S, n, d], k, v [B, K, g, d]
///                     integers: dtype, B, S, n, g, d, causal, window, K,
///                     whole heads, whole sequence, part, behind, rounds
///                     (left out if 1), random stream; scalars: seed, step,
///                     element base, first query, first key, first sequence,
///                     first head (AttentionPlace in
///                     kernels/reference/Attention.h; the keys are those
///                     `behind` rows before, around the end of the sequence)
/// attention_forward_documents, attention_backward_documents
///                     as the two of a shard, of sequences that documents
///                     share: another buffer behind the last one that is read,
///                     positions i32[B, S] of the queries (AttentionShape)
/// attention_forward_biased
///                     buffers: o (out), lse (out), q, k, v,
///                     bias f32[2 R + 1, n], positions i32[B, S] (may be left
///                     out); integers: as the shard's, with rounds, then R,
///                     random stream; floats: scale, dropout p; scalars: as
///                     the shard's
/// attention_backward_biased
///                     buffers: dq, dk, dv, dbias f32[2 R + 1, n] (out),
///                     delta, parts f32[B, attentionBiasParts(), n, 2 R + 1]
///                     (out: workspaces), q, k, v, o, lse, do, bias,
///                     positions (may be left out); the rest as forward
/// cached_attention    buffers: q[T, n, d], k[T, g, d], v[T, g, d],
///                     positions i32[T], rows i32[T], table i32[R, P],
///                     keys[N, kCachePage, g, d], values (as keys),
///                     o[T, n, d] (out), keys, values (out: the same buffers)
///                     integers: dtype, T, n, g, d, window (0: none), R, P, N
///                     floats: scale, softcap, 1 if there are slopes (both
///                     left out if there are none)
///                     (kernels/reference/CachedAttention.h)
/// cached_attention_shard  as cached_attention, of a shard of heads
///                     integers: as cached_attention, whole heads
///                     scalars: first head
/// cached_attention_biased  as cached_attention, with bias f32[2 R + 1, n] in
///                     front of what it gives
///                     integers: as cached_attention, n, R
///                     floats: scale
/// merge_attention     buffers: o f32[B, S, n, d], lse f32[B, n, S], the same
///                     over other keys, both together (out; may be the first)
///                     integers: B, S, n, d
/// cross_entropy_forward   buffers: logits[T, V], labels i32[T],
///                     loss f32[1] (out), lse f32[T] (out)
///                     integers: dtype, T, V, valid_vocab
/// cross_entropy_backward  buffers: logits[T, V], labels i32[T], lse f32[T],
///                     dloss f32[1], dlogits[T, V] (out; may be logits)
///                     integers: dtype, T, V, valid_vocab
/// cross_entropy_rows  buffers: logits[T, V], labels i32[T],
///                     lse f32[T, parts] (out), picked f32[T] (out)
///                     integers: dtype, T, V, valid_vocab, parts
///                     scalars: first column
/// cross_entropy_backward_shard  buffers: logits[T, V], labels i32[T],
///                     lse f32[T], dloss f32[1], count f32[1],
///                     dlogits[T, V] (out; may be logits)
///                     integers: dtype, T, V, valid_vocab
///                     scalars: first column
/// cross_entropy_joint buffers: logits[T, V], labels i32[T], dloss f32[1],
///                     count f32[1], lse f32[T] (out), picked f32[T] (out),
///                     dlogits[T, V] (out; may be logits): rows of one part
///                     and their gradient
///                     integers: dtype, T, V, valid_vocab
/// log_sum_exp         buffers: x f32[T, n], y f32[T] (out)
///                     integers: T, n
/// count_labels        buffers: labels i32[T], count f32[1] (out)
///                     integers: T
/// mean_loss           buffers: lse f32[T], picked f32[T], labels i32[T],
///                     count f32[1], loss f32[1] (out)
///                     integers: T
/// gather_shards       buffers: x[p, o, n], y[o, N] (out):
///                     y[o, i * n + j] = x[i, o, j] while i * n + j < N
///                     integers: dtype, p, o, n, N (at most p n)
/// scatter_shards      buffers: x[o, N], y[p, o, n] (out):
///                     y[i, o, j] = x[o, i * n + j], 0 from N on
///                     integers: dtype, p, o, n, N (at most p n)
/// slice_shard         buffers: x[o, N], y[o, n] (out):
///                     y[o, j] = x[o, first + j], 0 from N on
///                     integers: dtype, o, n, N; scalars: first
/// insert_rows         buffers: x[n], z[N], y[N] (out; may be z):
///                     y[first + j] = x[j] for j < n, else y[i] = z[i]
///                     integers: dtype, n, N, first (at most N - n)
/// shift_rows          buffers: x[o, N], y[o, N] (out):
///                     y[o, j] = x[o, first + j], 0 below 0 and from N on
///                     integers: dtype, o, N, first (between -N and N)
/// join_heads          buffers: front[T, g, a], x[T, n, b],
///                     y[T, n, a + b] (out): y[t, h] = front[t, h], x[t, h];
///                     a front of one head (g = 1) is that of all
///                     integers: dtype, T, n, g (1 or n), a, b
/// sum_heads           buffers: x[T, n, d], y[T, a] (out):
///                     y[t, c] = sum over h of x[t, h, c], in f32
///                     integers: dtype, T, n, d, a (at most d)
/// transpose           buffers: x[m, n], y[n, m] (out)
///                     integers: dtype (of one byte), m, n
/// quantize_blocks     buffers: x[o, r, c], codes[o, r, c] (out),
///                     scales f32[o, R, C] (out), of blocks of m x n:
///                     R = ceil(r / m), C = ceil(c / n)
///                     integers: x dtype, codes dtype, o, r, c, m, n
///                     (kernels/reference/QuantizeBlocks.h)
/// dequantize_blocks   buffers: codes[o, r, c], scales f32[o, R, C],
///                     y[o, r, c] (out)
///                     integers: codes dtype, y dtype, o, r, c, m, n
/// global_norm         buffers: norm f32[1] (out), found_nonfinite f32[1]
///                     (out), N tensors
///                     integers: dtype and element count of each tensor
/// gemm_pack           buffers: b[n, k] if transposed else [k, n],
///                     packed u8[packedBytes(dtype, n, k)] (out)
///                     integers: dtype, n, k, transposed (0 or 1)
///
/// Mixtures of experts, as in kernels/reference/{Router,Experts}.h. E experts,
/// k of them a token, T = B S tokens; "sigmoid" and "renormalise" are 0 or 1.
/// Rows R are E B C with a capacity C, else (C = 0) those of G runs of
/// sequences, each ordered by itself; G is 1 with a capacity.
///
/// router              buffers: weights f32[T, k] (out), chosen i32[T, k]
///                     (out), logits f32[T, E], bias f32[E] (may be left out)
///                     integers: T, E, k, sigmoid, renormalise, groups,
///                     topk_groups; floats: scale
/// router_by_sequence  buffers: as router's, with bias f32[Q, E]
///                     integers: router's, Q (sequences); floats: scale
/// sinkhorn            buffers: bias f32[Q, E] (out), work f64[T + Q, E + 1]
///                     (out: workspace), logits f32[T, E]; integers: T, E, Q
/// router_gradient     buffers: dlogits f32[T, E] (out), dweights f32[T, k],
///                     logits f32[T, E], chosen i32[T, k]
///                     integers: T, E, k, sigmoid, renormalise; floats: scale
/// router_probabilities    buffers: sums f32[Q, E] (out), parts f64[Q, 32, E]
///                     (out: workspace), logits f32[T, E]
///                     integers: T, E, sigmoid, Q (sequences; 1: all as one)
/// router_probabilities_gradient   buffers: dlogits f32[T, E] (out),
///                     dsums f32[Q, E], logits f32[T, E]
///                     integers: T, E, sigmoid, Q
/// router_z_loss       buffers: loss f32[1] (out), parts f64[32] (out:
///                     workspace), logits f32[T, E]; integers: T, E
/// router_z_loss_gradient  buffers: dlogits f32[T, E] (out), dloss f32[1],
///                     logits f32[T, E]; integers: T, E
/// balance_bias        buffers: result f32[E] (out), bias f32[E],
///                     counts f32[E], skip f32[1]; integers: E; floats: rate
/// expert_counts       buffers: counts f32[Q, E] (out), chosen i32[n]
///                     integers: n, E, Q (sequences; 1: all as one)
/// expert_order        buffers: slots i32[B, S, k] (out), ranges i32[G, E, 2]
///                     (out; workspace with a capacity), chosen i32[B, S, k]
///                     integers: B, S, k, E, C, G
/// dispatch            buffers: rows[R, h] (out), tokens[T, h],
///                     slots i32[B, S, k], weights f32[B, S, k] (may be left
///                     out); integers: dtype, B, S, k, E, C, G, R, h
/// combine             buffers: tokens[T, h] (out), rows[R, h],
///                     slots i32[B, S, k], weights f32[B, S, k] (may be left
///                     out); integers: as dispatch
/// combine_weight_gradient buffers: dweights f32[B, S, k] (out), tokens[T, h],
///                     rows[R, h], slots i32[B, S, k]; integers: as dispatch
/// pack_segments       buffers: packed i32[N, 2] (out), ranges i32[N, 2]
///                     integers: N
/// grouped_linear      buffers: y[R, o] (out), x[R, i], w[E, o, i],
///                     ranges i32[G, S, 2] (left out: R / E rows each)
///                     integers: dtype, R, o, i, E, G, S (segments of a run, a
///                     multiple of E), rows that are expected to be in ranges
///                     (at most R; for prices alone)
/// grouped_linear_input_gradient   buffers: dx[R, i] (out), dy[R, o],
///                     w[E, o, i], ranges i32[G, S, 2] (as above)
///                     integers: as grouped_linear
/// grouped_linear_weight_gradient  buffers: dw f32[E, o, i] (out), dy[R, o],
///                     x[R, i], ranges i32[G, S, 2] (as above)
///                     integers: as grouped_linear; accumulates
///
/// State-space layers, as in kernels/reference/StateSpace.h, which says how
/// large K, p and N are at most.
///
/// causal_conv         buffers: y[B, S, C] (out), x[B, S, C], w[C, K],
///                     bias[C] (may be left out)
///                     integers: dtype, B, S, C, K
/// causal_conv_gradient    buffers: dx[B, S, C] (out), dw f32[C, K] (out),
///                     dbias f32[C] (out), dy[B, S, C], x[B, S, C], w[C, K]
///                     integers: as causal_conv
/// state_scan          buffers: y[B, S, n, p] (out), x[B, S, n, p],
///                     step[B, S, n], in map[B, S, g, N], out map[B, S, g, N],
///                     decay f32[n], step bias f32[n], skip f32[n]
///                     integers: dtype, B, S, n, p, g, N; floats: least, most
/// state_scan_gradient buffers: dx, dstep, din map, dout map (out; as x, step,
///                     in map, out map), ddecay f32[n], dstep bias f32[n],
///                     dskip f32[n] (out), f32[scanWorkspace()] (out:
///                     workspace), dy[B, S, n, p], x, step, in map, out map,
///                     decay, step bias, skip
///                     integers, floats: as state_scan
/// cached_conv         buffers: y[T, C] (out), cache[R, K - 1, C] (out),
///                     x[T, C], w[C, K], positions i32[T], rows i32[T],
///                     bias[C] (may be left out), cache (the same buffer)
///                     integers: dtype, T, C, K (at least 2), R
/// cached_scan         buffers: y[T, n, p] (out), state f32[R, n, p, N] (out),
///                     x[T, n, p], step[T, n], in map[T, g, N],
///                     out map[T, g, N], decay f32[n], step bias f32[n],
///                     skip f32[n], positions i32[T], rows i32[T], state (the
///                     same buffer)
///                     integers: dtype, T, n, p, g, N, R; floats: least, most
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_LIBRARY_LIBRARY_H
#define HOCKET_KERNELS_LIBRARY_LIBRARY_H

#include "kernels/reference/Element.h"

#include <span>
#include <string_view>

namespace hocket::kernels {

/// How many sums over tokens a router's workspace holds, each over some of them
/// in order, so that their number changes no bit.
inline constexpr int64_t kRouterParts = 32;

/// Bytes of the packed form (kernels/cpu/Gemm.h) of a [k, n] matrix of `dtype`;
/// the same on every machine. For 0 <= n, k < 2^31.
constexpr int64_t packedBytes(DType dtype, int64_t n, int64_t k) {
  return (n + 31) / 32 * 32 * (k + k % 2) * (dtype == DType::BF16 ? 2 : 4);
}

struct LibraryOp {
  std::string_view name;
  int minBuffers, maxBuffers;
  int scalars;      ///< exactly
  uint64_t writes;  ///< bit i: buffer i is written
  bool accumulates; ///< heeds whether a call accumulates
  /// Checks the number and the values of integers and floats; the use of
  /// requiredBytes().
  KernelError (*sizes)(std::span<const int64_t> integers,
                       std::span<const double> floats,
                       std::span<int64_t> bytes);
};

/// The op called `name`, or null.
const LibraryOp *findLibraryOp(std::string_view name);

/// `rounds` of a call, integer `at` unless it is left out.
inline int64_t roundsAt(std::span<const int64_t> integers, size_t at) {
  return integers.size() > at ? integers[at] : 1;
}
/// The same of attention; the last integer is the stream.
inline int64_t attentionRounds(std::span<const int64_t> integers) {
  return roundsAt(integers.first(integers.size() - 1), 13);
}

/// The farthest distance that a bias of attention tells from others, of a call
/// that has one.
inline int64_t attentionReach(std::span<const int64_t> integers) {
  return integers[14];
}

/// `softcap` of a call of attention, float `at` unless it is left out.
inline double softcapAt(std::span<const double> floats, size_t at) {
  return floats.size() > at ? floats[at] : 0;
}

/// Whether such a call has slopes, which are told behind the softcap.
inline bool hasSlopes(std::span<const double> floats, size_t softcapAt) {
  return floats.size() > softcapAt + 1;
}

/// All ops, in the order above.
std::span<const LibraryOp> libraryOps();

/// Checks a call before it is made: the counts of buffers (bytes.size()),
/// integers, floats and scalars, every dimension and every dtype, and that no
/// size overflows. Fills bytes[i] with what buffer i must at least have. An
/// executor that has checked this, and that buffers are as large, may run the
/// op on any data.
[[nodiscard]] KernelError requiredBytes(const LibraryOp &op,
                                        std::span<const int64_t> integers,
                                        std::span<const double> floats,
                                        size_t scalars,
                                        std::span<int64_t> bytes);

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_LIBRARY_LIBRARY_H
