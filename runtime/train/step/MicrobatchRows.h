//===- MicrobatchRows.h - The samples that one rank needs -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The global microbatch has global_batch_size / microbatches sequences. A rank
/// reads those that its host instructions name, and no others.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_MICROBATCHROWS_H
#define HOCKET_RUNTIME_TRAIN_STEP_MICROBATCHROWS_H

#include "runtime/data/samples/BatchSource.h"
#include "runtime/program/program.pb.h"

namespace hocket {

/// Rows [first, first + count) of `global` rows; count 0: none.
struct MicrobatchRows {
  uint64_t global = 0;
  uint64_t first = 0;
  uint64_t count = 0;

  /// What the inputs "tokens" and "labels" of the rank's role name. A checked
  /// program.
  static MicrobatchRows of(const program::Program &program, unsigned rank);

  /// Whether no lower rank has the same rows: of several, one counts what they
  /// hold.
  static bool isFirst(const program::Program &program, unsigned rank);

  bool operator==(const MicrobatchRows &) const = default;

  /// The same rows for a BatchSource. It cuts microbatches evenly; where the
  /// rows are no such part it reads all of them, and `first` becomes 0.
  data::BatchGeometry geometry(uint64_t microbatches);
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_MICROBATCHROWS_H
