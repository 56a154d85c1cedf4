//===- RunSamples.h - The samples of a run ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_RUNSAMPLES_H
#define HOCKET_RUNTIME_DATA_SAMPLES_RUNSAMPLES_H

#include "runtime/data/samples/BlendedDataset.h"

namespace hocket::data {

/// What a run reads, each as parseBlend() takes it.
struct RunData {
  std::vector<std::string> data;
  /// Where validation or test has data of its own, as Megatron's
  /// --valid-data-path has it: then all of them are used whole, and no document
  /// is shared out.
  std::vector<std::string> validData, testData = {};
  /// There is no data: samples are made up (MockDataset.h).
  bool isMock = false;
  /// What errors call them.
  std::string dataName = "--data", validName = "--valid-data",
              testName = "training.data.test";

  bool isApart() const { return !validData.empty() || !testData.empty(); }
  /// What a split is read from; empty where nothing is left for it.
  const std::vector<std::string> &wordsOf(Split split) const;
  const std::string &nameOf(Split split) const;
};

/// What openSamples() is to open for a split of a run.
struct RunSamplesRequest {
  std::vector<BlendPart> parts;
  GptDatasetOptions options;
  Split split = Split::Train;
  uint64_t samples = 0;
};

/// Errors name the option. Where neighbours are wanted and nobody says from
/// where, they come from the data that is trained on.
StatusOr<RunSamplesRequest> resolveRunSamples(const RunData &from,
                                              GptDatasetOptions options,
                                              const RunLength &run,
                                              Split split);

/// The samples of a split in the order of the run, or made up. Errors name the
/// option.
StatusOr<std::unique_ptr<SampleSource>>
openRunSamples(const RunData &from, GptDatasetOptions options,
               const RunLength &run, Split split);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_RUNSAMPLES_H
