//===- TrainingRun.cpp - `hocket train`, as one rank does it --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/TrainingRun.h"

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/executor/ProfileReport.h"
#include "runtime/program/Entries.h"
#include "runtime/train/Interrupt.h"
#include "runtime/train/LogFile.h"
#include "runtime/train/RankRun.h"
#include "runtime/train/RankSession.h"
#include "runtime/train/RunFacts.h"
#include "runtime/train/SaveFolder.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/TrainingData.h"
#include "runtime/train/step/LearningRate.h"
#include "runtime/train/step/RankAgreement.h"
#include "runtime/train/step/StepTrace.h"
#include "runtime/train/step/TokenCheck.h"
#include "runtime/train/values/RunCheckpoint.h"

#include <filesystem>
#include <utility>

using namespace hocket;

namespace {

/// The parts of one rank's run, made one after the other.
class TrainingRun {
public:
  TrainingRun(const RankRun &place, comm::CommunicatorSet &communicators)
      : place(place), source(place.seat.program), options(*place.options),
        communicators(communicators),
        session(place.seat, communicators, {options.print, options.show}),
        steps(options.steps.value_or(source->training().steps())),
        loadDir(options.loadDir), finetunes(options.finetune) {}

  Status run() {
    Status status = runSteps();
    if (!status.ok())
      session.fail(status);
    return status;
  }

private:
  Status runSteps() {
    HOCKET_RETURN_IF_ERROR(claimFolder());
    HOCKET_RETURN_IF_ERROR(load());
    print(session.banner());
    HOCKET_RETURN_IF_ERROR(restoreOrInitialize());
    HOCKET_RETURN_IF_ERROR(compareStart());
    if (isFirst())
      HOCKET_RETURN_IF_ERROR(checkLogs());
    printNotices();
    options.started(*executor);
    HOCKET_RETURN_IF_ERROR(session.prepare());
    HOCKET_RETURN_IF_ERROR(openData());
    if (isFirst())
      HOCKET_RETURN_IF_ERROR(openLogs());
    TrainerOptions trainerOptions{
        steps, options.saveDir, options.print,
        [this](const std::string &entry) { return useGraph(entry); },
        options.show};
    trainerOptions.savesInBackground = options.savesInBackground;
    if (folder)
      trainerOptions.saved = [this](uint64_t step) {
        return folder->saved(step);
      };
    if (goesOnInItsFolder())
      trainerOptions.savedStep = start.step;
    Trainer trainer(*executor, train, valid, log, trainerOptions);
    if (options.profile)
      executor->startProfile();
    std::unique_ptr<StepTrace> trace;
    if (!options.traceFile.empty()) {
      HOCKET_RETURN_IF_ERROR(checkTraceSteps());
      HOCKET_ASSIGN_OR_RETURN(trace,
                              StepTrace::create(*executor, options.traceSteps));
    }
    Status status = trainer.run(start);
    if (trace && status.ok())
      status = trace->write(options.traceFile);
    if (trace && !trace->note().empty())
      print(trace->note());
    if (options.profile && isFirst())
      print(profileText(*executor));
    if (status.ok())
      options.finished(*executor);
    return status;
  }

  bool isFirst() const { return session.isFirst(); }
  void print(const std::string &line) const { session.print(line); }

  RunOutput output() const { return {options.print, options.show}; }

  /// Before anything is computed.
  Status claimFolder() {
    if (options.saveDir.empty())
      return okStatus();
    HOCKET_ASSIGN_OR_RETURN(
        ClaimedFolder claimed,
        claimTogether(communicators.world(),
                      {options.saveDir, finetunes ? "" : options.loadDir,
                       options.resume, options.overwrite, options.keep}));
    folder = std::move(claimed.folder);
    if (claimed.resumedStep) {
      loadDir =
          checkpoint::iterationFolder(options.saveDir, *claimed.resumedStep);
      finetunes = false;
    }
    return okStatus();
  }

  LogUse logUse() const {
    // A run that was to be resumed and had saved nothing may have logged.
    if (start.step > 0 || options.resume)
      return LogUse::Continue;
    return options.overwrite ? LogUse::Overwrite : LogUse::New;
  }

  /// Whether what is loaded is the run that --save holds.
  bool goesOnInItsFolder() const {
    if (options.saveDir.empty() || loadDir.empty() || finetunes)
      return false;
    std::error_code error;
    return std::filesystem::equivalent(loadDir, options.saveDir, error) ||
           loadDir == checkpoint::iterationFolder(options.saveDir, start.step);
  }

  Status checkTraceSteps() const {
    const StepWindow &window = options.traceSteps;
    if (start.step >= steps ||
        (window.first <= steps && window.last > start.step))
      return okStatus();
    return invalidArgument(formatText(
        "--trace-steps names none of the steps that are run, which "
        "are %llu to %llu",
        (unsigned long long)start.step + 1, (unsigned long long)steps));
  }

  Status checkLogs() const {
    if (!options.logFile.empty())
      HOCKET_RETURN_IF_ERROR(checkLogFile(options.logFile, logUse()));
    if (!options.eventsDir.empty())
      HOCKET_RETURN_IF_ERROR(checkEventsFolder(options.eventsDir, logUse()));
    return okStatus();
  }

  Status openLogs() {
    bool goesOn = logUse() == LogUse::Continue;
    if (!options.logFile.empty()) {
      HOCKET_ASSIGN_OR_RETURN(log, MetricsLog::open(options.logFile, goesOn));
    }
    if (!options.eventsDir.empty()) {
      if (logUse() == LogUse::Overwrite)
        HOCKET_RETURN_IF_ERROR(removeEventFiles(options.eventsDir));
      std::optional<uint64_t> again;
      if (goesOn)
        again = start.step + 1;
      HOCKET_ASSIGN_OR_RETURN(EventFile events,
                              EventFile::create(options.eventsDir, again));
      log.add(std::move(events));
    }
    return okStatus();
  }

  /// What should not come as a surprise when the run is over.
  void printNotices() const {
    if (loadDir.empty() && !options.newRunNotice.empty())
      print(options.newRunNotice);
    if (folder)
      for (const std::string &line : folder->notices())
        print(line);
    if (start.step >= steps)
      return;
    if (options.saveDir.empty())
      print("nothing of this run will be kept: there is no --save");
    if (auto notice = decayNotice(source->training(), start.step + 1, steps))
      print(*notice);
  }

  Status load() {
    HOCKET_RETURN_IF_ERROR(session.load());
    executor = &session.executor();
    if (!executor->hasEntry("train_step"))
      return invalidArgument(
          missingEntryText(executor->program(), "train_step") +
          "; compile it with --entries train");
    return options.graphs == GraphUse::On ? insisted(checkGraph("train_step"))
                                          : okStatus();
  }

  Status checkGraph(const std::string &entry) const {
    if (options.profile || !options.traceFile.empty())
      return failedPrecondition("instructions are measured one by one");
    return session.checkGraph(entry, options.graphs);
  }
  static Status insisted(const Status &status) {
    return status.withContext("--cuda-graphs on: a step cannot be a graph");
  }

  /// Everything has run once and is ready: code, algorithms, memory.
  Status useGraph(const std::string &entry) {
    if (options.graphs == GraphUse::Off || !session.isGpu())
      return okStatus();
    Status status = session.capture(entry, checkGraph(entry));
    if (options.graphs == GraphUse::On)
      return insisted(status);
    if (!status.ok() && !std::exchange(isIssued, true))
      print("steps are issued instruction by instruction: " + status.message());
    return okStatus();
  }

  Status restoreOrInitialize() {
    if (options.seed)
      executor->setSeed(*options.seed);
    // A head that is not in what is loaded keeps its first values.
    bool keepsHead = finetunes && source->training().has_classification();
    HOCKET_RETURN_IF_ERROR(session.initialize(!loadDir.empty() && !keepsHead));
    if (loadDir.empty())
      return okStatus();
    if (finetunes)
      return takeWeights();
    HOCKET_ASSIGN_OR_RETURN(checkpoint::RunState state,
                            session.restore(loadDir));
    if (options.seed && *options.seed != state.seed && state.step > 0)
      return invalidArgument(formatText(
          "%s was trained with seed %llu, --seed says %llu; a run keeps its "
          "seed",
          loadDir.c_str(), (unsigned long long)state.seed,
          (unsigned long long)*options.seed));
    if (state.step > 0)
      executor->setSeed(state.seed);
    start = {state.step, state.consumedSamples};
    print(formatText("loaded step %llu from ", (unsigned long long)state.step) +
          loadDir);
    if (steps > 0 && start.step >= steps)
      print(nothingToTrain());
    return okStatus();
  }

  /// A new run from the weights of another.
  Status takeWeights() {
    HOCKET_ASSIGN_OR_RETURN(
        LoadedWeights weights,
        session.takeWeights(loadDir, options.imported.get()));
    print(options.imported ? "fine-tuning the weights in " + loadDir
                           : formatText("fine-tuning the weights of step %llu "
                                        "in ",
                                        (unsigned long long)weights.step) +
                                 loadDir);
    std::string fresh;
    for (const std::string &name : weights.fresh)
      fresh += (fresh.empty() ? "" : ", ") + name;
    if (!fresh.empty())
      print("the head begins anew: " + fresh);
    loadDir = std::move(weights.folder);
    return okStatus();
  }

  std::string nothingToTrain() const {
    std::string text =
        formatText("nothing to train: %llu steps in all were asked for; ",
                   (unsigned long long)steps);
    const program::LearningRate &rate = source->training().learning_rate();
    if (start.step + 1 <
        firstStepAfterDecay(source->training()).value_or(UINT64_MAX))
      return text + formatText("--steps %llu goes on for one more",
                               (unsigned long long)start.step + 1);
    return text +
           formatText("further ones would train at learning rate %g, the end "
                      "of its decay. To go on to step N, compile with --set "
                      "training.learning_rate.decay_%s and say --steps N",
                      rate.minimum(),
                      isInSamples(rate)
                          ? "samples=S, for the samples of N steps,"
                          : "steps=N");
  }

  Status compareStart() const {
    return comm::compareRanks(communicators.world(),
                              factsOfStart({start.step, start.consumedSamples,
                                            executor->currentSeed(), loadDir}));
  }

  data::GptDatasetOptions datasetOptions() const {
    return datasetOptionsOf(*source, executor->currentSeed());
  }

  /// What is not learned has to be left out of the loss.
  Status checkLossMask(const data::SampleSource &samples) const {
    auto mask = samples.lossMask();
    if (!mask)
      return okStatus();
    const program::TrainingInfo &training = source->training();
    if (training.documents().mask_loss() &&
        training.documents().eod_token() == mask->endOfConversation)
      return okStatus();
    return invalidArgument(formatText(
        "the data holds conversations, of which answers alone are learned; "
        "compile with --set training.data.eod_token=%llu --set "
        "training.data.eod_mask_loss=true, and with "
        "training.data.reset_attention_mask and reset_position_ids, so that "
        "conversations that share a sequence do not see each other",
        (unsigned long long)mask->endOfConversation));
  }

  Status openData() {
    if (start.step >= steps)
      return okStatus();
    if (options.data.empty() && !options.mockData)
      return missingData();
    comm::PatientScope patient(communicators.activity(), "opening the data");
    auto notice = session.phase("indexing the data");
    data::RunLength run = runLengthOf(*source, steps);
    HOCKET_ASSIGN_OR_RETURN(
        train, place.samples->open(datasetOptions(), run, data::Split::Train));
    HOCKET_RETURN_IF_ERROR(checkLossMask(*train));
    if (run.validInterval > 0 && run.validBatches > 0 &&
        executor->hasEntry("eval_step")) {
      auto opened =
          place.samples->open(datasetOptions(), run, data::Split::Valid);
      if (opened.ok()) {
        valid = *std::move(opened);
        HOCKET_RETURN_IF_ERROR(checkLossMask(*valid));
      } else if (!options.validData.empty()) {
        return opened.status();
      } else {
        print("no validation: " + opened.status().message());
      }
    }
    notice.reset();
    // The first rank reads them for all.
    Status status;
    for (const auto *words : {&options.data, &options.validData})
      if (isFirst() && status.ok() && !words->empty())
        status = checkTokens(*words, source->model().vocab_size(), output(),
                             InterruptGuard::requested);
    return agree(communicators.world(), status);
  }

  const RankRun &place;
  std::shared_ptr<const program::Program> source;
  const TrainingOptions &options;
  comm::CommunicatorSet &communicators;
  RankSession session;
  uint64_t steps;
  std::string loadDir;                ///< What this run goes on from.
  bool finetunes;                     ///< It takes the weights of that alone.
  std::unique_ptr<SaveFolder> folder; ///< Of rank 0, if the run saves.
  Executor *executor = nullptr;       ///< The session's, once it is loaded.
  TrainerPosition start;
  std::shared_ptr<const data::SampleSource> train, valid;
  MetricsLog log;
  bool isIssued = false; ///< Some step is, for it cannot be a graph.
};

} // namespace

Status hocket::runRank(const RankRun &place,
                       comm::CommunicatorSet &communicators) {
  Status status = TrainingRun(place, communicators).run();
  if (!status.ok())
    communicators.fail(status);
  return status;
}
