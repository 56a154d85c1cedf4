//===- RetrievalTargets.h - Samples that want neighbours --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_RETRIEVALTARGETS_H
#define HOCKET_COMPILER_TOOLS_RETRIEVALTARGETS_H

#include "frontends/spec/LoadSpec.h"
#include "runtime/data/samples/NeighborSearch.h"
#include "runtime/data/samples/RunSamples.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hocket {

/// What commands about retrieval take.
struct RetrievalArguments {
  std::vector<std::string> prefix, validData;
  std::string spec;
  spec::LoadOptions options;
};

/// Adds PREFIX, --valid-data, --spec and --set. `arguments` must outlive the
/// command.
void addRetrievalOptions(CLI::App &command, RetrievalArguments &arguments);

/// The run of a specification with model.retrieval.
class RetrievalRun {
public:
  /// InvalidArgument if its model retrieves nothing.
  static StatusOr<RetrievalRun> open(const RetrievalArguments &arguments);

  const data::NeighborShape &shape() const { return options.retrieval->shape; }
  uint64_t vocabularySize() const { return options.vocabularySize; }

  /// Whether it measures the loss of validation data.
  bool validates() const {
    return length.validInterval > 0 && length.validBatches > 0;
  }

  /// Each token file of a split with the samples that the run has of it.
  /// `corpus` becomes the token files that neighbours come from.
  StatusOr<std::vector<data::NeighborTarget>>
  targets(data::Split split, std::vector<std::string> &corpus) const;

private:
  data::GptDatasetOptions options;
  data::RunData from;
  data::RunLength length;
};

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_RETRIEVALTARGETS_H
