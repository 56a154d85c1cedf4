//===- RunSamples.cpp - The samples of a run ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/RunSamples.h"

#include "runtime/data/samples/MockDataset.h"

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

StatusOr<RunSamplesRequest> data::resolveRunSamples(const RunData &from,
                                                    GptDatasetOptions options,
                                                    const RunLength &run,
                                                    Split split) {
  const std::vector<std::string> &words = from.wordsOf(split);
  if (words.empty() && split != Split::Train) {
    Split other = split == Split::Valid ? Split::Test : Split::Valid;
    return invalidArgument(
        from.nameOf(other) +
        ": all data is used whole, and nothing is left for " +
        (split == Split::Valid ? "validation" : "test"));
  }
  auto partsOf = [&](Split of) -> StatusOr<std::vector<BlendPart>> {
    auto parts = parseBlend(from.wordsOf(of));
    return parts.ok() ? std::move(parts)
                      : parts.status().withContext(from.nameOf(of));
  };
  RunSamplesRequest request;
  HOCKET_ASSIGN_OR_RETURN(request.parts, partsOf(split));
  HOCKET_ASSIGN_OR_RETURN(request.samples, samplesOfRun(run, split));
  request.split = split;
  if (options.classes)
    options.classes->shuffles = split == Split::Train;
  if (options.retrieval)
    options.retrieval->split = split;
  if (options.retrieval && options.retrieval->corpus.empty()) {
    HOCKET_ASSIGN_OR_RETURN(auto trained, partsOf(Split::Train));
    for (const BlendPart &part : trained)
      options.retrieval->corpus.push_back(part.prefix);
  }
  if (from.isApart()) {
    options.splitWeights = "1";
    request.split = Split::Train; // All there is.
  }
  request.options = std::move(options);
  return request;
}

StatusOr<std::unique_ptr<SampleSource>>
data::openRunSamples(const RunData &from, GptDatasetOptions options,
                     const RunLength &run, Split split) {
  if (from.isMock) {
    HOCKET_ASSIGN_OR_RETURN(uint64_t samples, samplesOfRun(run, split));
    return MockDataset::create(options, split, samples);
  }
  HOCKET_ASSIGN_OR_RETURN(
      RunSamplesRequest request,
      resolveRunSamples(from, std::move(options), run, split));
  return openSamples(request.parts, request.options, request.split,
                     request.samples);
}
