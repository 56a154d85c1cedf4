//===- RankSlice.h - What one rank holds of a parameter ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_VALUES_RANKSLICE_H
#define HOCKET_RUNTIME_TRAIN_VALUES_RANKSLICE_H

#include "runtime/program/RankPlace.h"

#include <cstdint>
#include <vector>

namespace hocket {

/// A ParameterSlice as one rank has it: its buffer holds the box
/// [start, start + size) of the global tensor, dense and row-major. Where the
/// box reaches beyond the tensor it is padding, which is 0.
struct RankSlice {
  std::vector<uint64_t> shape; ///< Of the global tensor.
  std::vector<uint64_t> start;
  std::vector<uint64_t> size;
  /// The part from `start` on that lies inside the tensor; a 0: nothing does.
  std::vector<uint64_t> inside;
  /// Whether this rank is the one that saves it.
  bool saves = false;

  bool isPadded() const { return inside != size; }
  bool isEmpty() const;

  /// Of a checked program, for a rank of the slice's role.
  static RankSlice of(const program::Program &program,
                      const program::ParameterSlice &slice, unsigned rank) {
    return of(program, RankPlaces(program), slice, rank);
  }
  /// The same for many slices and ranks.
  static RankSlice of(const program::Program &program, const RankPlaces &places,
                      const program::ParameterSlice &slice, unsigned rank);
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_VALUES_RANKSLICE_H
