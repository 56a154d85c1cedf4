//===- SpecSamples.h - The samples that a specification names ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What commands that read samples without a program know from a specification,
/// as runtime/train/TrainingData.h has it of a program.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_SPECSAMPLES_H
#define HOCKET_COMPILER_TOOLS_SPECSAMPLES_H

#include "frontends/spec/LoadSpec.h"
#include "runtime/data/samples/RunSamples.h"

namespace hocket {

/// How the samples of a run of `spec` are cut and shuffled.
data::GptDatasetOptions datasetOptionsOf(const spec::Spec &spec);

/// How long it is.
data::RunLength runLengthOf(const spec::Spec &spec);

/// What it reads: `data` and `validData` of a command line, and where they are
/// empty, what `spec` says. InvalidArgument if there is no data.
StatusOr<data::RunData> runDataOf(const spec::Spec &spec,
                                  const std::vector<std::string> &data,
                                  const std::vector<std::string> &validData);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_SPECSAMPLES_H
