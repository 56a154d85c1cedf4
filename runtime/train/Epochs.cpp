//===- Epochs.cpp - Runs that are so many epochs long ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Epochs.h"

#include "base/CheckedMath.h"
#include "base/Quantity.h"
#include "runtime/train/TrainingData.h"

#include <algorithm>
#include <cmath>

using namespace hocket;

/// Steps that one epoch of `split` takes, each of `batch` samples.
static StatusOr<uint64_t> stepsOfEpoch(const program::Program &program,
                                       const data::RunData &data,
                                       data::Split split) {
  uint64_t batch = program.training().global_batch_size();
  HOCKET_ASSIGN_OR_RETURN(
      auto source,
      data::openRunSamples(
          data, datasetOptionsOf(program, program.training().seed()),
          data::RunLength{
              .steps = 1, .globalBatchSize = batch, .validBatches = 1},
          split));
  return source->epochSize() / batch;
}

/// The parts of the schedule that are shares of the run, or follow from it.
static void setSchedule(program::LearningRate &rate, uint64_t steps) {
  rate.set_decay_steps(steps);
  if (rate.warmup_fraction() > 0)
    rate.set_warmup_steps(uint64_t(
        std::ceil(rate.warmup_fraction() * double(steps) * (1 - 1e-12))));
  rate.set_warmup_steps(std::min(rate.warmup_steps(), steps));
  if (rate.schedule() == "wsd")
    rate.set_wsd_decay_steps(std::min(steps / 10, steps - rate.warmup_steps()));
}

StatusOr<std::shared_ptr<const program::Program>>
hocket::inSteps(std::shared_ptr<const program::Program> program,
                const data::RunData &data, std::string &notice) {
  uint64_t epochs = program->training().epochs();
  if (epochs == 0 || data.data.empty())
    return program;
  HOCKET_ASSIGN_OR_RETURN(uint64_t each,
                          stepsOfEpoch(*program, data, data::Split::Train));
  auto steps = checkedMultiply(each, epochs);
  if (!steps || *steps > uint64_t(1) << 48)
    return invalidArgument(formatNoun(epochs, "epoch") + " of " +
                           formatNoun(each, "step") + " are too many steps");
  auto resolved = std::make_shared<program::Program>(*program);
  program::TrainingInfo &training = *resolved->mutable_training();
  training.clear_epochs(); // Said in steps from here on.
  training.set_steps(*steps);
  setSchedule(*training.mutable_learning_rate(), *steps);
  training.set_valid_interval(each);
  // Where there is no such data, opening it again says why.
  auto ofValidation = stepsOfEpoch(*program, data, data::Split::Valid);
  training.set_valid_batches(ofValidation.ok() ? *ofValidation : 1);
  notice = formatNoun(epochs, "epoch") + " of " + formatNoun(each, "step") +
           ", each followed by validation";
  return std::shared_ptr<const program::Program>(std::move(resolved));
}
