//===- RunTraining.cpp - `hocket train` -----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Epochs.h"
#include "runtime/train/RankRun.h"
#include "runtime/train/RunFacts.h"
#include "runtime/train/TrainingData.h"

using namespace hocket;

static Status checkRequest(const program::Program &program,
                           const TrainingOptions &options,
                           const data::RunData &data) {
  if (program.training().seed() > UINT32_MAX ||
      options.seed.value_or(0) > UINT32_MAX)
    return invalidArgument("the seed must be below 2^32");
  if (options.finetune && options.loadDir.empty())
    return invalidArgument("--finetune takes the weights of --load, which is "
                           "missing");
  if (options.saveDir.empty() &&
      (options.resume || options.keep > 0 || options.savesInBackground))
    return invalidArgument(std::string(options.resume     ? "--resume"
                                       : options.keep > 0 ? "--keep"
                                                          : "--async-save") +
                           " is about the checkpoints of --save, which is "
                           "missing");
  if (options.saveDir.empty() && options.logFile.empty() &&
      options.eventsDir.empty() && options.overwrite)
    return invalidArgument("--overwrite is about --save, --log and "
                           "--tensorboard-dir, which are missing");
  if (options.resume && options.overwrite)
    return invalidArgument("--resume goes on from what is saved, --overwrite "
                           "starts over; give one of them");
  if (options.mockData && !(options.data.empty() && options.validData.empty()))
    return invalidArgument("--mock-data is in place of --data and "
                           "--valid-data; give one or the other");
  if (options.mockData && program.training().epochs() > 0)
    return invalidArgument("training.epochs counts how often the data is read, "
                           "and --mock-data has no end; compile with "
                           "training.steps in its place");
  if (!options.validData.empty() && data.data.empty())
    return invalidArgument("--valid-data is what training with --data "
                           "validates on, and --data is missing");
  const program::TrainingInfo &training = program.training();
  if (!options.validData.empty() && training.epochs() == 0 &&
      (training.valid_interval() == 0 || training.valid_batches() == 0))
    return invalidArgument("--valid-data has no use: the executable never "
                           "validates; compile it with "
                           "training.validation.interval above 0");
  uint64_t steps = options.steps.value_or(
      std::max(program.training().steps(), program.training().epochs()));
  bool maybeDone =
      options.resume || (!options.loadDir.empty() && !options.finetune);
  if (data.data.empty() && !options.mockData && steps > 0 && !maybeDone)
    return missingData();
  return okStatus();
}

/// Words may come from any thread.
static std::shared_ptr<const TrainingOptions>
speakingInTurn(TrainingOptions options) {
  RunOutput output = inTurn({options.print, options.show});
  options.print = std::move(output.print);
  options.show = std::move(output.show);
  return std::make_shared<const TrainingOptions>(std::move(options));
}

Status hocket::runTraining(std::shared_ptr<const program::Program> program,
                           const TrainingOptions &given) {
  data::RunData data;
  if (given.mockData)
    data.isMock = true;
  else
    data = runDataOf(*program, given.data, given.validData);
  HOCKET_RETURN_IF_ERROR(checkRequest(*program, given, data));
  TrainingOptions options = given;
  options.data = data.data;
  options.validData = data.validData;
  std::string epochs;
  HOCKET_ASSIGN_OR_RETURN(program, inSteps(std::move(program), data, epochs));
  for (const std::string &notice : {options.startNotice, epochs})
    if (!notice.empty() && options.print)
      options.print(notice);
  RankRun run;
  run.options = speakingInTurn(options);
  run.samples = std::make_shared<SharedSamples>(std::move(data));
  RankLaunch launch;
  launch.hangSeconds = options.hangSeconds;
  launch.print = run.options->print;
  launch.facts = [program, options = run.options](const std::string &runId) {
    return factsOfRun(*program, *options, runId);
  };
  launch.body = [run](const RankSeat &seat,
                      comm::CommunicatorSet &communicators) {
    RankRun own = run;
    own.seat = seat;
    return runRank(own, communicators);
  };
  return launchRanks(std::move(program), launch);
}
