//===- RunSamples.cpp - The samples of a run ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/RunSamples.h"

using namespace hocket;
using namespace hocket::data;

StatusOr<std::unique_ptr<SampleSource>>
data::openRunSamples(const RunData &from, GptDatasetOptions options,
                     const RunLength &run, Split split) {
  bool isApart = !from.validData.empty();
  if (isApart && split == Split::Test)
    return invalidArgument("--valid-data: training and validation use their "
                           "data whole, and nothing is left for test");
  bool isValid = isApart && split == Split::Valid;
  auto parts = parseBlend(isValid ? from.validData : from.data);
  if (!parts.ok())
    return parts.status().withContext(isValid ? "--valid-data"
                                              : from.dataOption);
  HOCKET_ASSIGN_OR_RETURN(uint64_t samples, samplesOfRun(run, split));
  if (isApart) {
    options.splitWeights = "1";
    split = Split::Train; // All there is.
  }
  return openSamples(*parts, options, split, samples);
}
