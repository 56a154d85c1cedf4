//===- RankComparison.h - Do ranks run the same? ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks that are processes were started one by one: one may have another
/// executable, seed or data. Nothing notices that later, and what is trained is
/// wrong; so ranks compare what they are about to run.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_INTERFACES_RANKCOMPARISON_H
#define HOCKET_RUNTIME_COMM_INTERFACES_RANKCOMPARISON_H

#include "runtime/comm/interfaces/Communicator.h"

#include <span>
#include <string>

namespace hocket::comm {

/// Something that all ranks must have alike.
struct RunFact {
  std::string differs;   ///< "runs another executable"
  std::string value;     ///< What this rank has, and is compared: "5e1c"
  std::string note = {}; ///< Said beside it, and not compared: where it is.
};

/// A collective of all ranks, with the same facts in the same order.
/// InvalidArgument if values differ, the same on every rank: it names the ranks
/// that differ from most others (of as many, from those of the lowest rank) and
/// what each has: "rank 2 runs another executable: 5e1c, rank 0 has 77ab".
Status compareRanks(Communicator &world, std::span<const RunFact> facts);

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_INTERFACES_RANKCOMPARISON_H
