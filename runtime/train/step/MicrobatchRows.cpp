//===- MicrobatchRows.cpp - The samples that one rank needs ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/MicrobatchRows.h"

#include "runtime/program/Entries.h"
#include "runtime/program/HostNames.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>

using namespace hocket;

/// Widens [first, last) by what one instruction names.
static void include(const program::Program &program, const program::Host &host,
                    unsigned rank, uint64_t global, uint64_t &first,
                    uint64_t &last) {
  if (host.shards().empty()) {
    first = 0;
    last = global;
    return;
  }
  for (const auto &shard : host.shards()) {
    if (shard.start().empty() || shard.size().empty())
      continue;
    int64_t start = scalarOfRank(program, shard.start(0), rank).value_or(0);
    uint64_t begin = std::min(uint64_t(std::max<int64_t>(start, 0)), global);
    uint64_t end = begin + std::min(shard.size(0), global - begin);
    if (begin == end)
      continue;
    first = std::min(first, begin);
    last = std::max(last, end);
  }
}

MicrobatchRows MicrobatchRows::of(const program::Program &program,
                                  unsigned rank) {
  MicrobatchRows rows;
  rows.global = globalMicrobatchOf(program.training());
  uint64_t first = rows.global, last = 0;
  for (const program::Role &role : program.roles()) {
    if (!std::count(role.ranks().begin(), role.ranks().end(), rank))
      continue;
    for (const program::Entry &entry : role.entries())
      if (!isServingEntry(entry.name()))
        for (const program::Host *host : hostsOf(role, entry))
          if (isBatchInput(host->name()))
            include(program, *host, rank, rows.global, first, last);
  }
  if (first < last) {
    rows.first = first;
    rows.count = last - first;
  }
  return rows;
}

bool MicrobatchRows::isFirst(const program::Program &program, unsigned rank) {
  MicrobatchRows own = of(program, rank);
  for (unsigned other = 0; other < rank; ++other)
    if (of(program, other) == own)
      return false;
  return own.count > 0;
}

data::BatchGeometry MicrobatchRows::geometry(uint64_t microbatches) {
  if (count == 0 || global % count != 0 || first % count != 0) {
    first = 0;
    count = global;
  }
  return {count, microbatches, global / count, first / count};
}
