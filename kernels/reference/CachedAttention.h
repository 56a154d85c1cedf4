//===- CachedAttention.h - Attention over kept keys -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention of tokens of several sequences at once over the keys and values of
/// all that came before them, which a cache of pages keeps (Kwon et al.,
/// "PagedAttention", arXiv 2309.06180). Token t is at position positions[t] of
/// the sequence in row rows[t]; position p of row r is kept in entry
/// p % kCachePage of page table[r, p / kCachePage]. First the tokens' own keys
/// and values are put in their places, then token t sees the positions
///   max(0, p - window + 1) .. p   (window 0: from 0 on)
/// as in Attention.h. A token whose row is -1 is padding: nothing of it is
/// kept, and it gives 0.
///
/// The host says rows, positions and pages, so a call checks them: each row in
/// [0, rows), each position in [0, tablePages * kCachePage), and every page
/// that a token reads or writes in [0, pages).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_CACHEDATTENTION_H
#define HOCKET_KERNELS_REFERENCE_CACHEDATTENTION_H

#include "kernels/reference/Attention.h"

namespace hocket::kernels {

/// Positions of a page. Attention sums over keys block by block, so a page is a
/// block: then a token's result has the bits that it has where whole sequences
/// are computed.
inline constexpr int64_t kCachePage = 64;

struct CachedAttentionArguments {
  int64_t tokens = 0;
  int64_t heads = 0, kvHeads = 0; ///< kvHeads divides heads
  int64_t headDim = 0;            ///< cpu: at most 512
  int64_t window = 0;             ///< 0: none
  float scale = 1;
  float softcap = 0;                ///< of scores, as in Attention.h; 0: none
  bool alibi = false;               ///< as in Attention.h
  int64_t firstHead = 0;            ///< of `wholeHeads`, with alibi
  int64_t wholeHeads = 0;           ///< 0: heads
  int64_t rows = 0, tablePages = 0; ///< of the table
  int64_t pages = 0;                ///< of the cache
  ConstView q;                      ///< [tokens, heads, headDim]
  ConstView k, v;                   ///< [tokens, kvHeads, headDim]
  const int32_t *positions = nullptr, *tokenRows = nullptr; ///< [tokens]
  const int32_t *table = nullptr; ///< [rows, tablePages]
  View o;                         ///< as q
  View keys, values;              ///< [pages, kCachePage, kvHeads, headDim]
  /// [2 reach + 1, heads], as in Attention.h; null: none.
  const float *bias = nullptr;
  int64_t reach = 0;
};

/// Null, or what is wrong with what the host says.
[[nodiscard]] KernelError
checkCachedPlaces(const CachedAttentionArguments &args);

/// The page that holds `position` of `row`; both are in range.
[[gnu::always_inline]] inline int64_t
pageOf(const CachedAttentionArguments &args, int64_t row, int64_t position) {
  return args.table[row * args.tablePages + position / kCachePage];
}

namespace reference {
[[nodiscard]] KernelError cachedAttention(const CachedAttentionArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_CACHEDATTENTION_H
