//===- RunLengths.cpp - How long a run is, in steps -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/RunLengths.h"

#include "frontends/spec/Check.h"
#include "frontends/spec/Defaults.h"
#include "frontends/spec/model/BatchGrowth.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/text/FieldPath.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::spec;

static std::string rateField(const std::string &name) {
  return "training.learning_rate." + name;
}

static bool isWritten(const Spec &spec, const std::string &field) {
  return findWritten(spec, field).message != nullptr;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// S44: what is said twice.
static void checkSaidOnce(const Spec &spec, ConstraintErrors &errors) {
  auto exclude = [&](const std::string &field, const std::string &other,
                     const std::string &what) {
    if (isWritten(spec, field) && isWritten(spec, other))
      errors.add(44, field,
                 field + " and " + other + " both say how long the " + what +
                     " is; leave one out");
  };
  exclude("training.train_samples", "training.steps", "run");
  exclude(rateField("warmup_fraction"), rateField("warmup_steps"), "warm-up");
  exclude(rateField("warmup_fraction"), rateField("warmup_samples"), "warm-up");
}

/// Whether the schedule's lengths are written in samples.
static bool schedulesSamples(const LearningRate &rate) {
  return rate.has_warmup_samples() || rate.has_decay_samples() ||
         rate.has_wsd_decay_samples();
}

/// S44: one unit for the schedule, and for the run and its schedule, unless the
/// batch grows and the run is in steps: then both units are clear.
static void checkUnits(const Spec &spec, ConstraintErrors &errors) {
  const Training &training = spec.training();
  bool isBySamples = training.has_train_samples();
  if (!isBySamples && batchGrows(training) &&
      schedulesSamples(training.learning_rate())) {
    for (std::string name : {"warmup_", "decay_", "wsd_decay_"})
      if (isWritten(spec, rateField(name + "steps")))
        errors.add(44, rateField(name + "steps"),
                   name +
                       "steps is in steps, but the rest of the schedule is "
                       "in samples; write " +
                       name + "samples");
    return;
  }
  std::string wrong = isBySamples ? "steps" : "samples",
              right = isBySamples ? "samples" : "steps";
  for (std::string name : {"warmup_", "decay_", "wsd_decay_"})
    if (isWritten(spec, rateField(name + wrong)))
      errors.add(44, rateField(name + wrong),
                 name + wrong + " is in " + wrong + ", but the run is in " +
                     right + (isBySamples ? " (train_samples)" : "") +
                     "; write " + name + right +
                     (isBySamples ? "" : ", or train_samples for the run"));
}

/// S44: a step of `batch` samples, which is called `name`, fits into the run.
static void checkRunSamples(const Training &training, int64_t batch,
                            const std::string &name, ConstraintErrors &errors) {
  if (training.train_samples() < batch)
    errors.add(44, "training.train_samples",
               "training.train_samples is " +
                   std::to_string(training.train_samples()) +
                   ", less than a step takes; write at least " + name + " (" +
                   std::to_string(batch) + ")");
}

/// S44 and S15, of fields that are in range. `batch`: samples of a step.
static void checkSamples(const Training &training, int64_t batch,
                         ConstraintErrors &errors) {
  const LearningRate &rate = training.learning_rate();
  int64_t run = training.train_samples();
  checkRunSamples(training, batch, "global_batch_size", errors);
  ScheduleLengths lengths{"samples",
                          rate.warmup_samples(),
                          rate.has_decay_samples() ? rate.decay_samples() : run,
                          {}};
  if (rate.has_wsd_decay_samples())
    lengths.wsdDecay = rate.wsd_decay_samples();
  checkScheduleLengths(rate.schedule(), lengths, errors);
}

/// S113: how many steps epochs are, the data alone knows.
static void checkEpochs(const Spec &spec, ConstraintErrors &errors) {
  if (!tellsClasses(spec.model()))
    errors.add(113, "training.epochs",
               "training.epochs is about labelled texts, of which an epoch has "
               "each once; write model.classes, or training.steps");
  auto exclude = [&](const std::string &field, const std::string &why) {
    if (isWritten(spec, field))
      errors.add(113, field,
                 field + " and training.epochs do not go together: " + why +
                     "; leave one out");
  };
  for (const char *field : {"training.steps", "training.train_samples"})
    exclude(field, "both say how long the run is");
  exclude("training.rampup_batch_size", "an epoch has steps of one size");
  for (const std::string &part : {"decay_", "wsd_decay_"})
    for (const char *unit : {"steps", "samples"})
      exclude(rateField(part + unit), "the rate decays over the whole run");
  exclude(rateField("warmup_samples"), "the run is in steps");
  if (!spec.training().batch_size_steps().empty())
    errors.add(113, "training.batch_size_steps[0]",
               "training.batch_size_steps and training.epochs do not go "
               "together: an epoch has steps of one size; leave one out");
  if (spec.training().validation().interval() > 0)
    errors.add(113, "training.validation.interval",
               "each epoch ends with a validation; leave "
               "training.validation.interval out, or training.epochs");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// `fraction` of `whole`, rounded up but for what binary fractions add.
static int64_t shareOf(double fraction, double whole) {
  return static_cast<int64_t>(std::ceil(fraction * whole * (1 - 1e-12)));
}

/// A warm-up that is a share of the decay, in steps.
static void setWarmupSteps(LearningRate &rate, int64_t decay) {
  rate.set_warmup_steps(
      shareOf(rate.warmup_fraction(), static_cast<double>(decay)));
  rate.clear_warmup_fraction();
}

static void countSamples(Training &training, int64_t batch) {
  LearningRate &rate = *training.mutable_learning_rate();
  int64_t run = training.train_samples();
  int64_t decay = rate.has_decay_samples() ? rate.decay_samples() : run;
  int64_t decaySteps = decay / batch;
  training.set_steps(run / batch);
  rate.set_decay_steps(decaySteps);
  if (rate.has_warmup_fraction())
    rate.set_warmup_steps(
        std::min(shareOf(rate.warmup_fraction(), double(decay) / double(batch)),
                 decaySteps));
  else
    rate.set_warmup_steps(
        std::min((rate.warmup_samples() + batch - 1) / batch, decaySteps));
  if (rate.has_wsd_decay_samples())
    rate.set_wsd_decay_steps(
        std::min(decaySteps - (decay - rate.wsd_decay_samples()) / batch,
                 decaySteps - rate.warmup_steps()));
}

static void clearSamples(Training &training) {
  LearningRate &rate = *training.mutable_learning_rate();
  training.clear_train_samples();
  rate.clear_warmup_samples();
  rate.clear_decay_samples();
  rate.clear_wsd_decay_samples();
  rate.clear_warmup_fraction();
}

/// What is found wrong with a field in steps is wrong where its samples stand.
static void moveLocations(const Spec &written, FieldLocations &locations) {
  auto move = [&](const std::string &from, const std::string &to) {
    if (isWritten(written, from))
      locations.set(to, locations.find(from));
  };
  move("training.train_samples", "training.steps");
  for (std::string name : {"warmup_", "decay_", "wsd_decay_"})
    move(rateField(name + "samples"), rateField(name + "steps"));
  move(rateField("warmup_fraction"), rateField("warmup_steps"));
}

//===----------------------------------------------------------------------===//
// Batches that grow
//===----------------------------------------------------------------------===//

/// The schedule with all its lengths in samples. `run`: those of the run.
static void writeScheduleInSamples(LearningRate &rate, int64_t run) {
  if (!rate.has_decay_samples())
    rate.set_decay_samples(run);
  int64_t decay = rate.decay_samples();
  if (rate.has_warmup_fraction())
    rate.set_warmup_samples(
        shareOf(rate.warmup_fraction(), static_cast<double>(decay)));
  rate.clear_warmup_fraction();
  rate.set_warmup_samples(rate.warmup_samples());
  if (rate.schedule() == LearningRate::WSD && !rate.has_wsd_decay_samples())
    rate.set_wsd_decay_samples(std::min(
        decay / 10, std::max<int64_t>(0, decay - rate.warmup_samples())));
}

/// `spec`, whose batch grows, with its steps, its sizes in whole steps and, of
/// a run in samples, its schedule in samples. `whole` has the defaults too.
static Status turnGrowthIntoSteps(Spec &spec, const Training &whole,
                                  ConstraintErrors &errors) {
  checkBatchGrowth(whole, errors);
  HOCKET_RETURN_IF_ERROR(errors.status());
  BatchSizes sizes = batchSizesOf(whole);
  Training &training = *spec.mutable_training();
  LearningRate &rate = *training.mutable_learning_rate();
  bool isBySamples = training.has_train_samples();
  if (isBySamples)
    checkRunSamples(training, static_cast<int64_t>(sizes.sizes().front().size),
                    "the first batch", errors);
  HOCKET_RETURN_IF_ERROR(errors.status());
  setBatchSizes(sizes, training);
  training.set_global_batch_size(whole.global_batch_size());
  if (isBySamples || schedulesSamples(rate)) {
    auto run = static_cast<uint64_t>(training.train_samples());
    if (!isBySamples)
      run = sizes.samplesIn(static_cast<uint64_t>(whole.steps())).value_or(0);
    writeScheduleInSamples(rate, static_cast<int64_t>(run));
  } else if (rate.has_warmup_fraction()) {
    setWarmupSteps(rate, whole.learning_rate().decay_steps());
  }
  if (isBySamples)
    training.set_steps(static_cast<int64_t>(
        sizes.stepsIn(static_cast<uint64_t>(training.train_samples()))));
  training.clear_train_samples();
  return okStatus();
}

Status spec::turnLengthsIntoSteps(Spec &spec, FieldLocations &locations) {
  const LearningRate &rate = spec.training().learning_rate();
  bool isBySamples = spec.training().has_train_samples(),
       grows = batchGrows(spec.training());
  bool isByEpochs = spec.training().has_epochs();
  if (!grows && !isBySamples && !schedulesSamples(rate) &&
      !rate.has_warmup_fraction() && !isByEpochs)
    return okStatus();
  Spec whole = spec;
  fillDefaults(whole);
  ConstraintErrors errors(locations);
  checkRanges(whole, errors);
  HOCKET_RETURN_IF_ERROR(errors.status());
  checkSaidOnce(spec, errors);
  if (isByEpochs) {
    checkEpochs(spec, errors);
    return errors.status();
  }
  checkUnits(spec, errors);
  HOCKET_RETURN_IF_ERROR(errors.status());
  if (grows) {
    if (spec.training().has_rampup_batch_size())
      locations.set("training.batch_size_steps",
                    locations.find("training.rampup_batch_size"));
    return turnGrowthIntoSteps(spec, whole.training(), errors);
  }
  int64_t batch = whole.training().global_batch_size();
  if (isBySamples)
    checkSamples(whole.training(), batch, errors);
  HOCKET_RETURN_IF_ERROR(errors.status());
  moveLocations(spec, locations);
  Training &training = *spec.mutable_training();
  if (isBySamples)
    countSamples(training, batch);
  else
    setWarmupSteps(*training.mutable_learning_rate(),
                   whole.training().learning_rate().decay_steps());
  clearSamples(training);
  return okStatus();
}
