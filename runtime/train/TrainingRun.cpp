//===- TrainingRun.cpp - `hocket train` -----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/TrainingRun.h"

#include "runtime/base/CheckedMath.h"
#include "runtime/base/Format.h"
#include "runtime/comm/local/LocalCommunicator.h"
#include "runtime/data/BlendedDataset.h"
#include "runtime/executor/ProfileReport.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/train/Initialize.h"
#include "runtime/train/RunCheckpoint.h"
#include "runtime/train/Trainer.h"

using namespace hocket;

namespace {

/// The parts of one run, made one after the other.
class TrainingRun {
public:
  TrainingRun(std::shared_ptr<const program::Program> source,
              const TrainingOptions &options)
      : source(std::move(source)), options(options),
        steps(options.steps.value_or(this->source->training().steps())) {}

  Status run() {
    HOCKET_RETURN_IF_ERROR(checkRequest());
    HOCKET_RETURN_IF_ERROR(load());
    options.print(banner());
    HOCKET_RETURN_IF_ERROR(restoreOrInitialize());
    if (executor->hasEntry("prepare")) {
      StepHost nothing([](data::Batch &) {
        return invalidArgument("the entry 'prepare' wants tokens");
      });
      HOCKET_RETURN_IF_ERROR(executor->run("prepare", start.step, nothing));
    }
    HOCKET_RETURN_IF_ERROR(openData());
    if (!options.logFile.empty()) {
      HOCKET_ASSIGN_OR_RETURN(
          log, MetricsLog::open(options.logFile, start.step > 0));
    }
    TrainerOptions trainerOptions{steps, options.saveDir, options.print};
    Trainer trainer(*executor, train, valid, log, trainerOptions);
    if (options.profile)
      executor->startProfile();
    Status status = trainer.run(start);
    if (options.profile)
      options.print(profileText(*executor));
    return status;
  }

private:
  Status checkRequest() const {
    if (source->training().seed() > UINT32_MAX ||
        options.seed.value_or(0) > UINT32_MAX)
      return invalidArgument("the seed must be below 2^32");
    if (options.data.empty() && steps > 0 && options.loadDir.empty())
      return invalidArgument("training wants --data PREFIX (made by `hocket "
                             "data prepare`)");
    return okStatus();
  }

  Status load() {
    HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<hal::Device> device,
                            hal::createDevice(source->provenance().target()));
    group = comm::createLocalCommunicator();
    HOCKET_ASSIGN_OR_RETURN(
        executor, Executor::create(source, std::move(device), *group));
    if (!executor->hasEntry("train_step"))
      return invalidArgument("the program has no entry 'train_step'");
    return okStatus();
  }

  std::string banner() const {
    const hal::DeviceProperties &about = executor->device().properties();
    return formatText(
        "%s: %s parameters, %s, %s of memory on %u thread%s of %s%s",
        source->model().name().c_str(),
        formatCount(double(source->model().parameter_count())).c_str(),
        source->training().precision().c_str(),
        formatBytes(executor->device().arenaBytes()).c_str(), about.workers,
        about.workers == 1 ? "" : "s", about.name.c_str(),
        about.isa.empty() ? "" : (" (" + about.isa + ")").c_str());
  }

  Status restoreOrInitialize() {
    if (options.seed)
      executor->setSeed(*options.seed);
    HOCKET_RETURN_IF_ERROR(initializeParameters(*executor));
    if (options.loadDir.empty())
      return okStatus();
    HOCKET_ASSIGN_OR_RETURN(checkpoint::RunState state,
                            loadRun(*executor, options.loadDir));
    if (options.seed && *options.seed != state.seed && state.step > 0)
      return invalidArgument(formatText(
          "%s was trained with seed %llu, --seed says %llu; a run keeps its "
          "seed",
          options.loadDir.c_str(), (unsigned long long)state.seed,
          (unsigned long long)*options.seed));
    if (state.step > 0)
      executor->setSeed(state.seed);
    start = {state.step, state.consumedSamples};
    options.print(
        formatText("loaded step %llu from ", (unsigned long long)state.step) +
        options.loadDir);
    return okStatus();
  }

  data::GptDatasetOptions datasetOptions() const {
    data::GptDatasetOptions dataset;
    dataset.sequenceLength = source->model().sequence_length();
    dataset.vocabularySize = source->model().vocab_size();
    dataset.seed = executor->currentSeed();
    if (!source->training().data_split().empty())
      dataset.splitWeights = source->training().data_split();
    return dataset;
  }

  /// The whole run that the program describes, of which --steps may ask only
  /// the beginning: the order of samples depends on it.
  data::RunLength runLength() const {
    data::RunLength run;
    run.steps = std::max(steps, source->training().steps());
    run.globalBatchSize = source->training().global_batch_size();
    run.validInterval = source->training().valid_interval();
    run.validBatches = source->training().valid_batches();
    return run;
  }

  Status openData() {
    if (start.step >= steps)
      return okStatus();
    if (options.data.empty())
      return invalidArgument("training wants --data PREFIX (made by `hocket "
                             "data prepare`)");
    auto parts = data::parseBlend(options.data);
    if (!parts.ok())
      return parts.status().withContext("--data");
    data::RunLength run = runLength();
    HOCKET_ASSIGN_OR_RETURN(uint64_t samples,
                            data::samplesOfRun(run, data::Split::Train));
    HOCKET_ASSIGN_OR_RETURN(train,
                            data::openSamples(*parts, datasetOptions(),
                                              data::Split::Train, samples));
    if (run.validInterval == 0 || run.validBatches == 0 ||
        !executor->hasEntry("eval_step"))
      return okStatus();
    HOCKET_ASSIGN_OR_RETURN(uint64_t validSamples,
                            data::samplesOfRun(run, data::Split::Valid));
    auto opened = data::openSamples(*parts, datasetOptions(),
                                    data::Split::Valid, validSamples);
    if (opened.ok())
      valid = *std::move(opened);
    else
      options.print("no validation: " + opened.status().message());
    return okStatus();
  }

  std::shared_ptr<const program::Program> source;
  const TrainingOptions &options;
  uint64_t steps;
  std::unique_ptr<comm::Communicator> group;
  std::unique_ptr<Executor> executor;
  TrainerPosition start;
  std::shared_ptr<const data::SampleSource> train, valid;
  MetricsLog log;
};

} // namespace

Status hocket::runTraining(std::shared_ptr<const program::Program> program,
                           const TrainingOptions &options) {
  return TrainingRun(std::move(program), options).run();
}
