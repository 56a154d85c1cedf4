//===- Positions.h - Where the rows of a sequence are -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks that share a sequence hold rows that need not follow each other. The
/// sequence is cut into parts, which n ranks are dealt in rounds of 2 n: of
/// each round rank r gets the part r and the part 2 n - 1 - r. Under a causal
/// mask the two together are as much to attend to for every rank (Llama 3,
/// arXiv 2407.21783, 3.3.2), so one round is enough where a sequence is one
/// text. Where documents share a sequence, a query attends to its own alone:
/// one that fills the middle of a sequence would be work for some of the ranks.
/// In several rounds each long document is dealt out to all of them, wherever
/// it lies, and what ranks have more or less of it than others is about a
/// part's.
///
/// What ranks hold, one after another, each in ascending order of position, is
/// the order of storage here. Parts of two ranks in two rounds:
///
///   0, 3, 4, 7 (rank 0), 1, 2, 5, 6 (rank 1)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_POSITIONS_H
#define HOCKET_KERNELS_REFERENCE_POSITIONS_H

#include <cstdint>

namespace hocket::kernels {

/// Whether a sequence of `whole` rows can be stored in parts of `part` rows
/// (0: in order) that are dealt out in `rounds` rounds.
[[gnu::always_inline]] inline bool isStorable(int64_t part, int64_t rounds,
                                              int64_t whole) {
  if (part == 0)
    return rounds == 1;
  return part > 0 && rounds > 0 && whole > 0 && part <= whole / 2 &&
         rounds <= whole / 2 / part && whole % (2 * part * rounds) == 0;
}

/// The position of the row that is stored at `at`, in a sequence of `whole`
/// rows that isStorable() so.
[[gnu::always_inline]] inline int64_t
storedPosition(int64_t at, int64_t part, int64_t rounds, int64_t whole) {
  if (part == 0)
    return at;
  int64_t width = whole / (part * rounds); // parts of a round
  int64_t stored = at / part, own = stored % (2 * rounds);
  int64_t rank = stored / (2 * rounds);
  int64_t number = own / 2 * width + (own % 2 ? width - 1 - rank : rank);
  return number * part + at % part;
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_POSITIONS_H
