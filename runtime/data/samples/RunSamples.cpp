//===- RunSamples.cpp - The samples of a run ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/RunSamples.h"

using namespace hocket;
using namespace hocket::data;

const std::vector<std::string> &RunData::wordsOf(Split split) const {
  if (!isApart() || split == Split::Train)
    return data;
  return split == Split::Valid ? validData : testData;
}

const std::string &RunData::nameOf(Split split) const {
  if (!isApart() || split == Split::Train)
    return dataName;
  return split == Split::Valid ? validName : testName;
}

StatusOr<std::unique_ptr<SampleSource>>
data::openRunSamples(const RunData &from, GptDatasetOptions options,
                     const RunLength &run, Split split) {
  const std::vector<std::string> &words = from.wordsOf(split);
  if (words.empty() && split != Split::Train) {
    Split other = split == Split::Valid ? Split::Test : Split::Valid;
    return invalidArgument(
        from.nameOf(other) +
        ": all data is used whole, and nothing is left for " +
        (split == Split::Valid ? "validation" : "test"));
  }
  auto parts = parseBlend(words);
  if (!parts.ok())
    return parts.status().withContext(from.nameOf(split));
  HOCKET_ASSIGN_OR_RETURN(uint64_t samples, samplesOfRun(run, split));
  if (options.classes)
    options.classes->shuffles = split == Split::Train;
  if (from.isApart()) {
    options.splitWeights = "1";
    split = Split::Train; // All there is.
  }
  return openSamples(*parts, options, split, samples);
}
