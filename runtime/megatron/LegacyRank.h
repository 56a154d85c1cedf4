//===- LegacyRank.h - What one rank saved -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Of the legacy format, one file: the weights of a rank, by names in which
/// layers and experts are numbered from 0 on each rank. Legacy.cpp joins them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_LEGACYRANK_H
#define HOCKET_RUNTIME_MEGATRON_LEGACYRANK_H

#include "runtime/megatron/Names.h"
#include "runtime/megatron/TorchFile.h"

#include <map>
#include <string>
#include <vector>

namespace hocket::megatron {

struct LocalTensor {
  WeightName name;
  TorchTensor tensor; ///< F32, F16, BF16 or F64.
};

/// A part of the model whose layers follow each other, by local names.
using Chunk = std::map<std::string, LocalTensor>;

struct Rank {
  std::string path;
  std::vector<Chunk> chunks; ///< "model", or "model0", "model1", ...
};

/// The file in `folder`; NotFound if there is none.
StatusOr<std::string> rankFile(const std::string &folder);

StatusOr<TorchFile> openTorchFile(const std::string &path);

/// Reads the file in `folder`. InvalidArgument or DataLoss, with its path, if
/// there are no weights, or they have types or names that are not known.
StatusOr<Rank> readRank(const std::string &folder);

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_LEGACYRANK_H
