//===- RunSamples.h - The samples of a run ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_RUNSAMPLES_H
#define HOCKET_RUNTIME_DATA_RUNSAMPLES_H

#include "runtime/data/BlendedDataset.h"

namespace hocket::data {

/// What a run reads, each as parseBlend() takes it.
struct RunData {
  std::vector<std::string> data;
  /// Where validation has data of its own, as Megatron's --valid-data-path has
  /// it: then both blends are used whole, and no document is shared out.
  std::vector<std::string> validData;
  std::string dataOption = "--data"; ///< What errors call the first.
};

/// The samples of a split in the order of the run. Errors name the option.
StatusOr<std::unique_ptr<SampleSource>>
openRunSamples(const RunData &from, GptDatasetOptions options,
               const RunLength &run, Split split);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_RUNSAMPLES_H
