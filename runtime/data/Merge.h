//===- Merge.h - Several token files as one ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `hocket data merge`: the sequences and documents of several datasets one
/// after the other, as Megatron's merge has them. Tokens are copied, not read;
/// bytes of a .bin that no sequence has are left out. Memory: what the open
/// datasets need.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_MERGE_H
#define HOCKET_RUNTIME_DATA_MERGE_H

#include "runtime/data/IndexedDataset.h"

#include <functional>
#include <string>
#include <vector>

namespace hocket::data {

struct MergeResult {
  uint64_t documents = 0;
  uint64_t tokens = 0;
  uint64_t bytes = 0; ///< Of tokens.
};

/// Writes `output`.bin and .idx of the datasets `prefixes`, each as
/// resolvePrefix() takes it. InvalidArgument if their tokens are of different
/// types, or fewer than two are named. On failure no file is changed.
/// `progress`, if set, is told how many bytes of tokens of how many are copied.
StatusOr<MergeResult>
mergeDatasets(const std::vector<std::string> &prefixes,
              const std::string &output,
              const std::function<void(uint64_t, uint64_t)> &progress = {});

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_MERGE_H
