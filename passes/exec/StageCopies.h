//===- StageCopies.h - What a schedule keeps at once ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What follows from the entries of a role, before its transfers are scheduled:
/// which scheduled functions run for which microbatch, and how many
/// microbatches of each stage hold a value at once.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_EXEC_STAGECOPIES_H
#define HOCKET_PASSES_EXEC_STAGECOPIES_H

#include "dialects/exec/IR/Exec.h"

#include <map>
#include <vector>

namespace hocket::exec {

/// A run of a sequence in an entry.
struct EntryRun {
  SequenceOp sequence;
  int64_t microbatch = 0, slot = 0;
  /// Which run of a scheduled function it belongs to, counted through the
  /// entry: sequences that are parts of one function follow each other.
  size_t action = 0;
  bool beginsAction = true;
};
std::vector<EntryRun> runsOf(EntryOp entry);

/// Microbatches of a step; where the batch grows, of the largest one.
int64_t microbatchesOf(RoleOp role);
/// Copies of what one stage's fragments keep that the entries number.
int64_t slotsOf(RoleOp role);

/// While a microbatch's value is kept: places in an order, ends included.
struct Stay {
  int64_t begin = -1, end = -1; ///< -1: never
};
/// Whether no two microbatches with one copy of `ring` stay at one time.
bool fitsRing(const std::vector<Stay> &stays, int64_t ring);
/// The same of several entries, which run one after another.
bool fitsRing(const std::vector<std::vector<Stay>> &entries, int64_t ring);

/// How many microbatches of a stage hold a value at once, in any entry, by the
/// fragments that make it and use it last. They are rings: microbatch m has
/// copy m modulo the number.
struct StageCopies {
  int64_t forwardToBackward = 1, forwardToWeight = 1, backwardToWeight = 1;
  /// Whether a W runs between F and B of another microbatch, and whether an F
  /// runs between B and W of another one.
  bool weightsBetween = false, forwardsBetween = false;
};
/// By stage; nothing where there is only one.
std::map<int64_t, StageCopies> stageCopiesOf(RoleOp role);

} // namespace hocket::exec

#endif // HOCKET_PASSES_EXEC_STAGECOPIES_H
