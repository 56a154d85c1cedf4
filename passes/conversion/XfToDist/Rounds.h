//===- Rounds.h - How finely ranks share sequences --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In how many rounds the parts of a sequence are dealt out to the ranks that
/// share it (kernels/reference/Positions.h), where documents share it too. More
/// rounds balance shorter documents; but a part shorter than a kernel's tile
/// would make tiles of queries that follow no more, of which none could be left
/// out.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_XFTODIST_ROUNDS_H
#define HOCKET_PASSES_CONVERSION_XFTODIST_ROUNDS_H

#include <cstdint>

namespace hocket::dist {

/// The most rounds that cut parts of `longest` rows, those of one round, into
/// equal parts of at least `least` rows, and of a multiple of as much of
/// `least` as divides `longest`; 1 where there are no others. Both are
/// positive.
int64_t roundsOf(int64_t longest, int64_t least);

} // namespace hocket::dist

#endif // HOCKET_PASSES_CONVERSION_XFTODIST_ROUNDS_H
