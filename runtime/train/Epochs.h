//===- Epochs.h - Runs that are so many epochs long -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_EPOCHS_H
#define HOCKET_RUNTIME_TRAIN_EPOCHS_H

#include "base/Status.h"
#include "runtime/data/samples/RunSamples.h"
#include "runtime/program/program.pb.h"

#include <memory>
#include <string>

namespace hocket {

/// A program whose run is in epochs (TrainingInfo.epochs) does not know its
/// steps, as it does not know its data. This is the same program for `data`,
/// in steps: those of all epochs, the whole run for its learning rate to decay
/// in, and at the end of each epoch a validation on all samples that there are.
/// Another program is returned as it is. `notice` is set to what a person
/// should know of it. Errors are those of opening the data for training.
StatusOr<std::shared_ptr<const program::Program>>
inSteps(std::shared_ptr<const program::Program> program,
        const data::RunData &data, std::string &notice);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_EPOCHS_H
