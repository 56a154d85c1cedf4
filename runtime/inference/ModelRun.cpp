//===- ModelRun.cpp - A trained model on all its ranks --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/ModelRun.h"

#include "base/Format.h"
#include "runtime/program/Entries.h"
#include "runtime/train/Interrupt.h"
#include "runtime/train/RunFacts.h"

#include <utility>

using namespace hocket;
using namespace hocket::inference;

void LoadedModel::show(const std::string &text) const {
  if (isFirst() && output.show)
    output.show(text);
}

Status LoadedModel::checkInterrupted() {
  return InterruptGuard::requested() ? failedPrecondition("interrupted")
                                     : okStatus();
}

Status LoadedModel::forward(ScoreHost &host, const std::string &entry) {
  host.begin(0, 0);
  HOCKET_RETURN_IF_ERROR(session.executor().run(entry, 0, host));
  bool isFirstDecode = entry == "decode" && !std::exchange(hasDecoded, true);
  return isFirstDecode ? useGraph(entry) : okStatus();
}

Status LoadedModel::useGraph(const std::string &entry) {
  if (graphs == GraphUse::Off || (graphs == GraphUse::Auto && !session.isGpu()))
    return okStatus();
  Status status = session.capture(entry, session.checkGraph(entry, graphs));
  if (graphs == GraphUse::On)
    return status.withContext("--cuda-graphs on: '" + entry +
                              "' cannot be a graph");
  if (!status.ok())
    print("tokens are written instruction by instruction: " + status.message());
  return okStatus();
}

static Status load(RankSession &session, const std::string &dir) {
  HOCKET_RETURN_IF_ERROR(session.load());
  if (!session.executor().hasEntry("eval_step"))
    return invalidArgument(
        missingEntryText(session.executor().program(), "eval_step"));
  session.print(session.banner());
  HOCKET_RETURN_IF_ERROR(session.initialize(!dir.empty()));
  if (!dir.empty()) {
    HOCKET_ASSIGN_OR_RETURN(checkpoint::RunState state, session.restore(dir));
    HOCKET_RETURN_IF_ERROR(comm::compareRanks(
        session.world(),
        factsOfStart({state.step, state.consumedSamples, state.seed, dir})));
    session.print(formatText("loaded step %llu from ", wide(state.step)) + dir);
  }
  return session.prepare();
}

Status inference::runModel(std::shared_ptr<const program::Program> program,
                           const ModelOptions &options,
                           const std::vector<comm::RunFact> &facts,
                           std::function<Status(LoadedModel &)> body) {
  struct Shared {
    ModelOptions options;
    std::function<Status(LoadedModel &)> body;
  };
  auto shared = std::make_shared<Shared>(options, std::move(body));
  shared->options.output = inTurn(options.output);
  RankLaunch launch;
  launch.hangSeconds = options.hangSeconds;
  launch.print = shared->options.output.print;
  launch.facts = [program, facts](const std::string &runId) {
    std::vector<comm::RunFact> all{
        {"belongs to another run", runId.empty() ? "none" : runId},
        factOfExecutable(*program)};
    all.insert(all.end(), facts.begin(), facts.end());
    return all;
  };
  launch.body = [shared](const RankSeat &seat,
                         comm::CommunicatorSet &communicators) {
    RankSession session(seat, communicators, shared->options.output);
    Status status = load(session, shared->options.loadDir);
    if (status.ok()) {
      LoadedModel model(session, shared->options);
      status = shared->body(model);
    }
    if (!status.ok()) {
      session.fail(status);
      communicators.fail(status);
    }
    return status;
  };
  return launchRanks(std::move(program), launch);
}

uint64_t inference::rowsOf(const program::Program &program) {
  return globalMicrobatchOf(program.training());
}

uint64_t inference::encoderLengthOf(const program::Program &program) {
  return program.training().span_corruption().encoder_sequence_length();
}

uint64_t inference::lengthOf(const program::Program &program) {
  return program.model().sequence_length();
}

Status inference::checkTokensOf(const program::Program &program,
                                std::span<const int32_t> tokens,
                                const std::string &what) {
  uint64_t vocabulary = program.model().vocab_size();
  for (int32_t token : tokens)
    if (token < 0 || uint64_t(token) >= vocabulary)
      return invalidArgument(
          what + formatText(" has the token %d, the model has a vocabulary of "
                            "%llu: is this the tokenizer that it was trained "
                            "with?",
                            token, wide(vocabulary)));
  return okStatus();
}
