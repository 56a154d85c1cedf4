//===- Score.cpp - Log-probabilities under a trained model ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/Score.h"

#include "runtime/base/Format.h"
#include "runtime/base/Quantity.h"
#include "runtime/base/Sha256.h"
#include "runtime/evaluate/ScoreHost.h"
#include "runtime/train/Interrupt.h"
#include "runtime/train/RankAgreement.h"
#include "runtime/train/RankSession.h"
#include "runtime/train/RunFacts.h"

#include <chrono>
#include <mutex>

using namespace hocket;
using namespace hocket::evaluate;

namespace {

/// What the ranks of a process share.
struct ScoreRun {
  std::shared_ptr<const std::vector<ScoreRequest>> requests;
  ScoreOptions options;
  std::mutex mutex;
  std::vector<Scores> answers; ///< The same from every rank.
};

/// One rank's part.
class RankScoring {
public:
  RankScoring(ScoreRun &run, const RankSeat &seat,
              comm::CommunicatorSet &communicators)
      : run(run), program(*seat.program),
        session(seat, communicators, run.options.output),
        world(communicators.world()) {}

  Status evaluate() {
    Status status = scoreAll();
    if (!status.ok())
      session.fail(status);
    return status;
  }

private:
  Status scoreAll() {
    HOCKET_RETURN_IF_ERROR(start());
    ScoreHost host(program, world.rank(), [&](data::Batch &batch) {
      fill(batch);
      return okStatus();
    });
    std::vector<Scores> answers;
    begin = Clock::now();
    while (done < requests().size()) {
      if (InterruptGuard::requested())
        return failedPrecondition("interrupted");
      host.begin(0, 0);
      HOCKET_RETURN_IF_ERROR(session.executor().run("eval_step", 0, host));
      HOCKET_ASSIGN_OR_RETURN(std::vector<float> numbers, host.share(world));
      collect(numbers, host, answers);
      showProgress();
    }
    std::lock_guard lock(run.mutex);
    run.answers = std::move(answers);
    return okStatus();
  }

  Status start() {
    HOCKET_RETURN_IF_ERROR(session.load());
    if (!session.executor().hasEntry("eval_step"))
      return invalidArgument("the program has no entry 'eval_step'");
    session.print(session.banner());
    HOCKET_RETURN_IF_ERROR(session.initialize());
    if (!run.options.loadDir.empty()) {
      HOCKET_ASSIGN_OR_RETURN(checkpoint::RunState state,
                              session.restore(run.options.loadDir));
      HOCKET_RETURN_IF_ERROR(comm::compareRanks(
          world, factsOfStart({state.step, state.consumedSamples, state.seed,
                               run.options.loadDir})));
      session.print(
          formatText("loaded step %llu from ", (unsigned long long)state.step) +
          run.options.loadDir);
    }
    return session.prepare();
  }

  const std::vector<ScoreRequest> &requests() const { return *run.requests; }

  /// A request a row, from the first that is not done; what is left of a row,
  /// and rows behind the last request, have no labels.
  void fill(data::Batch &batch) const {
    uint64_t rows = program.training().global_batch_size() /
                    program.training().microbatches();
    uint64_t length = program.model().sequence_length();
    batch.sequenceLength = length;
    batch.tokens.assign(rows * length, 0);
    batch.labels.assign(rows * length, -1);
    for (uint64_t r = 0; r < rows && done + r < requests().size(); ++r) {
      const ScoreRequest &request = requests()[done + r];
      for (size_t i = 0; i + 1 < request.tokens.size(); ++i) {
        batch.tokens[r * length + i] = request.tokens[i];
        if (i + 1 >= request.first)
          batch.labels[r * length + i] = request.tokens[i + 1];
      }
    }
  }

  void collect(const std::vector<float> &numbers, const ScoreHost &host,
               std::vector<Scores> &answers) {
    for (uint64_t r = 0; r < host.rows() && done < requests().size();
         ++r, ++done) {
      const ScoreRequest &request = requests()[done];
      auto row = numbers.begin() + ptrdiff_t(r * host.length());
      answers.emplace_back(row + ptrdiff_t(request.first) - 1,
                           row + ptrdiff_t(request.tokens.size()) - 1);
      tokens += request.tokens.size();
    }
  }

  void showProgress() {
    auto now = Clock::now();
    if (!session.isFirst() || !run.options.output.show ||
        now - shown < std::chrono::milliseconds(100))
      return;
    shown = now;
    double seconds = std::chrono::duration<double>(now - begin).count();
    double share = double(done) / double(requests().size());
    run.options.output.show(
        formatText("evaluating %5.1f %%  ", 100 * share) +
        formatCount(double(tokens) / seconds) + " tokens/s  " +
        formatDuration(seconds * (1 - share) / share) + " left");
  }

  using Clock = std::chrono::steady_clock;

  ScoreRun &run;
  const program::Program &program;
  RankSession session;
  comm::Communicator &world;
  size_t done = 0;     ///< Requests.
  uint64_t tokens = 0; ///< Of those.
  Clock::time_point begin, shown;
};

} // namespace

size_t evaluate::longestRequest(const program::Program &program) {
  return size_t(program.model().sequence_length()) + 1;
}

Status evaluate::checkRequests(const program::Program &program,
                               const std::vector<ScoreRequest> &requests) {
  uint64_t vocabulary = program.model().vocab_size();
  for (size_t i = 0; i < requests.size(); ++i) {
    const ScoreRequest &request = requests[i];
    if (request.first < 1 || request.first >= request.tokens.size())
      return invalidArgument(formatText(
          "request %zu asks about no token that has one before it", i + 1));
    if (request.tokens.size() > longestRequest(program))
      return invalidArgument(
          formatText("request %zu has %zu tokens, the program takes %zu", i + 1,
                     request.tokens.size(), longestRequest(program)));
    for (int32_t token : request.tokens)
      if (token < 0 || uint64_t(token) >= vocabulary)
        return invalidArgument(formatText(
            "request %zu has the token %d, the model has a vocabulary of %llu: "
            "is this the tokenizer that it was trained with?",
            i + 1, token, (unsigned long long)vocabulary));
  }
  return okStatus();
}

/// What processes must have alike.
static std::vector<comm::RunFact> factsOf(const program::Program &program,
                                          const ScoreRun &run,
                                          const std::string &runId) {
  Sha256 digest;
  for (const ScoreRequest &request : *run.requests) {
    uint64_t size = request.tokens.size();
    digest.update(&size, sizeof(size));
    digest.update(request.tokens.data(), size * sizeof(int32_t));
  }
  return {{"belongs to another run", runId.empty() ? "none" : runId},
          factOfExecutable(program),
          {"evaluates other text", toHex(digest.finish())}};
}

StatusOr<std::vector<Scores>>
evaluate::score(std::shared_ptr<const program::Program> program,
                std::shared_ptr<const std::vector<ScoreRequest>> requests,
                const ScoreOptions &options) {
  HOCKET_RETURN_IF_ERROR(checkRequests(*program, *requests));
  auto run = std::make_shared<ScoreRun>();
  run->requests = std::move(requests);
  run->options = options;
  run->options.output = inTurn(options.output);
  RankLaunch launch;
  launch.hangSeconds = options.hangSeconds;
  launch.print = run->options.output.print;
  launch.facts = [program, run](const std::string &runId) {
    return factsOf(*program, *run, runId);
  };
  launch.body = [run](const RankSeat &seat,
                      comm::CommunicatorSet &communicators) {
    Status status = RankScoring(*run, seat, communicators).evaluate();
    if (!status.ok())
      communicators.fail(status);
    return status;
  };
  HOCKET_RETURN_IF_ERROR(launchRanks(std::move(program), launch));
  std::lock_guard lock(run->mutex);
  return std::move(run->answers);
}
