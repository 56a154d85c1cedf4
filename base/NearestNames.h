//===- NearestNames.h - What a misspelt name may stand for ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An unknown name in an input or on a command line is answered with the names
/// that it most likely stands for: nearestNames() of Format.h, or, where
/// distance is more than that of two words, nearestOf(). Distance is
/// Levenshtein's, ignoring case.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_NEARESTNAMES_H
#define HOCKET_BASE_NEARESTNAMES_H

#include "base/Format.h"

#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// Insertions, deletions and substitutions that turn `a` into `b`, ignoring
/// ASCII case. Only the first 256 bytes of either count.
unsigned editDistance(std::string_view a, std::string_view b);

/// The same, and 1 where one name begins with the whole of the other.
unsigned nameDistance(std::string_view a, std::string_view b);

/// A name, and how far it is from what was written.
struct ScoredName {
  unsigned distance;
  std::string name;
};

/// Farther than this, a name does not resemble `name`; at least `least`.
unsigned resemblanceLimit(std::string_view name, size_t least);

/// The names of `scored` that are no farther than `limit`, nearest first, at
/// most `most`; ties keep their order. One that is the same stands alone.
std::vector<std::string> nearestOf(std::vector<ScoredName> scored,
                                   unsigned limit, size_t most = 3);

/// "a", "a or b", "a, b or c".
std::string joinAlternatives(const std::vector<std::string> &names);

/// "; did you mean a or b?", or nothing where nothing resembles `name`.
std::string didYouMean(std::string_view name,
                       const std::vector<std::string> &candidates);

} // namespace hocket

#endif // HOCKET_BASE_NEARESTNAMES_H
