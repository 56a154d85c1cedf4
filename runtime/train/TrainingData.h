//===- TrainingData.h - The samples that a program is trained on *- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_TRAININGDATA_H
#define HOCKET_RUNTIME_TRAIN_TRAININGDATA_H

#include "runtime/data/samples/BatchSource.h"
#include "runtime/data/samples/RunSamples.h"
#include "runtime/program/program.pb.h"

#include <string>
#include <vector>

namespace hocket {

/// How a program's samples are cut and shuffled under `seed`.
data::GptDatasetOptions datasetOptionsOf(const program::Program &program,
                                         uint64_t seed);

/// Puts a row of zeros before the patches of each image, and numbers
/// `batch.imageRows` accordingly, as programs take both in (program.proto).
/// Does nothing where they take no images.
Status addClassRows(const program::Program &program, data::Batch &batch);

/// How a program's documents are told apart where they share a sequence.
data::DocumentMarks documentMarksOf(const program::Program &program);

/// Whether some places of a sequence have no label, so that the loss is a mean
/// over the labels of the whole step, which are counted.
bool masksLabels(const program::Program &program);

/// Whether samples are masked tokens or labelled texts, between [CLS] and
/// [SEP].
bool isFramed(const program::Program &program);

/// What a run reads: `data` and `validData` of its command line, and where they
/// are empty, what the program says.
data::RunData runDataOf(const program::Program &program,
                        const std::vector<std::string> &data,
                        const std::vector<std::string> &validData);

/// The whole run that the program describes, of which `steps` may be only the
/// beginning: the order of samples depends on it.
data::RunLength runLengthOf(const program::Program &program, uint64_t steps);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_TRAININGDATA_H
