//===- Score.cpp - Log-probabilities under a trained model ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/Score.h"

#include "base/Format.h"
#include "base/Sha256.h"
#include "runtime/program/Entries.h"
#include "runtime/train/TrainingData.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <utility>

using namespace hocket;
using namespace hocket::inference;

namespace {

/// Answers requests on one rank, as many at a time as there are rows.
class Scoring {
public:
  Scoring(LoadedModel &model, const std::vector<ScoreRequest> &requests)
      : model(model), requests(requests), rows(rowsOf(model.program())),
        length(lengthOf(model.program())),
        documents(documentMarksOf(model.program())) {}

  StatusOr<std::vector<Scores>> run() {
    ScoreHost host(model.program(), model.world().rank(),
                   [&](data::Batch &batch) {
                     fill(batch);
                     return okStatus();
                   });
    while (done < requests.size()) {
      HOCKET_RETURN_IF_ERROR(LoadedModel::checkInterrupted());
      host.ask(/*labels=*/true, placesOfLogits());
      HOCKET_RETURN_IF_ERROR(model.forward(host));
      HOCKET_ASSIGN_OR_RETURN(std::vector<float> labels,
                              host.shareLabels(model.world()));
      HOCKET_ASSIGN_OR_RETURN(std::vector<float> logits,
                              host.shareLogits(model.world()));
      collect(labels, logits);
      showProgress();
    }
    return std::move(answers);
  }

private:
  /// A request a row, from the first that is not done; what is left of a row,
  /// and rows behind the last request, have no labels.
  void fill(data::Batch &batch) const {
    batch.sequenceLength = length;
    batch.tokens.assign(rows * length, 0);
    batch.labels.assign(rows * length, -1);
    if (isFramed(model.program()))
      return fillMasked(batch);
    if (model.program().training().has_span_corruption())
      return fillSpans(batch);
    if (model.program().training().has_images())
      fillImages(batch);
    if (model.program().training().has_retrieval())
      fillNeighbors(batch);
    bool hasPrefixes = model.program().training().has_prefix_lm();
    batch.keyCounts.clear();
    forEachRow([&](uint64_t r, const ScoreRequest &request) {
      if (hasPrefixes) // What is asked about has what is before it as that.
        data::addPrefixCounts(request.first, length, batch.keyCounts);
      if (request.hasLabels()) // Those of fillImages().
        return;
      for (size_t i = 0; i + 1 < request.tokens.size(); ++i) {
        batch.tokens[r * length + i] = request.tokens[i];
        if (i + 1 >= request.first)
          batch.labels[r * length + i] = request.tokens[i + 1];
      }
    });
    if (hasPrefixes) // Of rows without a request, too.
      batch.keyCounts.resize(rows * length, 1);
    if (documents.end)
      batch.positions = data::positionsOf(documents, batch.tokens, length);
  }

  /// Rows without images have zeros, which stand nowhere.
  void fillImages(data::Batch &batch) const {
    uint64_t each = pixelsOf(model.program().training().images());
    batch.pixels.assign(rows * each, 0);
    batch.imageRows.assign(rows * length, -1);
    forEachRow([&](uint64_t r, const ScoreRequest &request) {
      auto at = ptrdiff_t(r * length);
      if (!request.hasLabels())
        return;
      std::ranges::copy(request.tokens, batch.tokens.begin() + at);
      std::ranges::copy(request.labels, batch.labels.begin() + at);
      std::ranges::copy(request.imageRows, batch.imageRows.begin() + at);
      std::ranges::copy(request.pixels,
                        batch.pixels.begin() + ptrdiff_t(r * each));
    });
  }

  void fillNeighbors(data::Batch &batch) const {
    uint64_t each = neighborTokensOf(model.program());
    batch.neighbors.assign(rows * each, 0);
    forEachRow([&](uint64_t r, const ScoreRequest &request) {
      std::ranges::copy(request.neighbors,
                        batch.neighbors.begin() + ptrdiff_t(r * each));
    });
  }

  /// What is behind a request, and rows behind the last one, are padding.
  void fillMasked(data::Batch &batch) const {
    for (auto *list :
         {&batch.tokenTypes, &batch.keyCounts, &batch.sentenceLabels})
      list->assign(rows * length, 0);
    forEachRow([&](uint64_t r, const ScoreRequest &request) {
      auto at = ptrdiff_t(r * length);
      std::ranges::copy(request.tokens, batch.tokens.begin() + at);
      std::ranges::copy(request.labels, batch.labels.begin() + at);
      std::ranges::copy(request.types, batch.tokenTypes.begin() + at);
      std::fill_n(batch.keyCounts.begin() + at, length,
                  int32_t(request.tokens.size()));
    });
  }

  void fillSpans(data::Batch &batch) const {
    batch.encoderLength = encoderLengthOf(model.program());
    batch.encoderTokens.assign(rows * batch.encoderLength, 0);
    forEachRow([&](uint64_t r, const ScoreRequest &request) {
      auto at = ptrdiff_t(r * length);
      std::ranges::copy(request.tokens, batch.tokens.begin() + at);
      std::ranges::copy(request.labels, batch.labels.begin() + at);
      std::ranges::copy(request.encoder,
                        batch.encoderTokens.begin() +
                            ptrdiff_t(r * batch.encoderLength));
    });
  }

  std::vector<LabelPlace> placesOfLogits() const {
    std::vector<LabelPlace> places;
    forEachRow([&](uint64_t r, const ScoreRequest &request) {
      if (request.asksLikeliest)
        for (size_t place : request.places())
          places.push_back({r, place});
    });
    return places;
  }

  void collect(const std::vector<float> &labels,
               const std::vector<float> &logits) {
    auto next = logits.begin();
    auto vocabulary = ptrdiff_t(labelValuesOf(model.program()));
    uint64_t answered = 0;
    forEachRow([&](uint64_t r, const ScoreRequest &request) {
      Scores &scores = answers.emplace_back();
      for (size_t place : request.places()) {
        scores.logProbabilities.push_back(labels[r * length + place]);
        if (!request.asksLikeliest)
          continue;
        int32_t label = request.hasLabels() ? request.labels[place]
                                            : request.tokens[place + 1];
        auto best = std::max_element(next, next + vocabulary);
        scores.likeliest.push_back(best - next == label);
        next += vocabulary;
      }
      tokens += request.tokens.size();
      ++answered;
    });
    done += answered;
  }

  template <typename Visit> void forEachRow(Visit &&visit) const {
    for (uint64_t r = 0; r < rows && done + r < requests.size(); ++r)
      visit(r, requests[done + r]);
  }

  void showProgress() {
    auto now = Clock::now();
    if (now - shown < std::chrono::milliseconds(100))
      return;
    shown = now;
    double seconds = std::chrono::duration<double>(now - begin).count();
    double share = double(done) / double(requests.size());
    model.show(formatText("evaluating %5.1f %%  ", 100 * share) +
               formatCount(double(tokens) / seconds) + " tokens/s  " +
               formatDuration(seconds * (1 - share) / share) + " left");
  }

  using Clock = std::chrono::steady_clock;

  LoadedModel &model;
  const std::vector<ScoreRequest> &requests;
  const uint64_t rows, length;
  const data::DocumentMarks documents;
  std::vector<Scores> answers;
  size_t done = 0;     ///< Requests.
  uint64_t tokens = 0; ///< Of those.
  Clock::time_point begin = Clock::now(), shown;
};

} // namespace

std::vector<size_t> ScoreRequest::places() const {
  std::vector<size_t> places;
  if (!hasLabels())
    for (size_t i = first; i < tokens.size(); ++i)
      places.push_back(i - 1);
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] >= 0)
      places.push_back(i);
  return places;
}

/// Of a program of masked tokens.
static Status checkMaskedRequest(const program::Program &program,
                                 const ScoreRequest &request,
                                 const std::string &name) {
  size_t size = request.tokens.size();
  if (size == 0 || request.labels.size() != size ||
      request.types.size() != size)
    return invalidArgument(name + " does not say of each token which kind it "
                                  "is of, and what is asked about it");
  if (size > size_t(lengthOf(program)))
    return invalidArgument(
        name + formatText(" has %zu tokens, the program takes %llu", size,
                          (unsigned long long)lengthOf(program)));
  std::vector<int32_t> labels;
  std::ranges::copy_if(request.labels, std::back_inserter(labels),
                       [](int32_t label) { return label != -1; });
  if (std::ranges::any_of(request.types,
                          [](int32_t type) { return type < 0 || type > 1; }))
    return invalidArgument(name + " has a token of a kind other than 0 and 1");
  uint64_t values = labelValuesOf(program);
  if (std::ranges::any_of(labels, [&](int32_t label) {
        return label < 0 || uint64_t(label) >= values;
      }))
    return invalidArgument(
        name + formatText(" asks about a label that is none of %llu",
                          (unsigned long long)values));
  return checkTokensOf(program, request.tokens, name);
}

/// Of a program with an encoder.
static Status checkSpanRequest(const program::Program &program,
                               const ScoreRequest &request,
                               const std::string &name) {
  if (!request.hasLabels() || request.encoder.empty())
    return invalidArgument(
        "the program has an encoder, and tells no tokens of a text without one "
        "that it takes in; `hocket eval loss` measures it");
  uint64_t taken = encoderLengthOf(program);
  if (request.encoder.size() != taken)
    return invalidArgument(
        name + formatText(" has %zu tokens for the encoder, the program takes "
                          "%llu",
                          request.encoder.size(), wide(taken)));
  if (request.labels.size() != request.tokens.size() ||
      request.tokens.size() > size_t(lengthOf(program)))
    return invalidArgument(
        name + formatText(" has %zu tokens and %zu labels, the program takes "
                          "%llu of both",
                          request.tokens.size(), request.labels.size(),
                          wide(lengthOf(program))));
  std::vector<int32_t> labels;
  std::ranges::copy_if(request.labels, std::back_inserter(labels),
                       [](int32_t label) { return label != -1; });
  for (const std::vector<int32_t> *list :
       {&std::as_const(labels), &request.tokens, &request.encoder})
    HOCKET_RETURN_IF_ERROR(checkTokensOf(program, *list, name));
  return okStatus();
}

/// Of a program that takes in images: with labels, what they stand among;
/// without, texts alone.
static Status checkImageRequest(const program::Program &program,
                                const ScoreRequest &request,
                                const std::string &name) {
  auto token = int32_t(program.training().images().image_token());
  if (!request.hasLabels()) {
    if (std::ranges::count(request.tokens, token) > 0)
      return invalidArgument(name + " has the token of an image, and no image; "
                                    "`hocket eval loss` measures texts with "
                                    "images");
    return okStatus();
  }
  if (request.labels.size() != request.tokens.size() ||
      request.imageRows.size() != request.tokens.size() ||
      request.tokens.size() > size_t(lengthOf(program)) ||
      request.pixels.size() != pixelsOf(program.training().images()))
    return invalidArgument(
        name + formatText(" has %zu tokens, %zu labels, %zu rows and %zu "
                          "pixels, the program takes %llu of the first three "
                          "and %llu",
                          request.tokens.size(), request.labels.size(),
                          request.imageRows.size(), request.pixels.size(),
                          wide(lengthOf(program)),
                          wide(pixelsOf(program.training().images()))));
  std::vector<int32_t> labels;
  std::ranges::copy_if(request.labels, std::back_inserter(labels),
                       [](int32_t label) { return label != -1; });
  HOCKET_RETURN_IF_ERROR(checkTokensOf(program, labels, name));
  return checkTokensOf(program, request.tokens, name);
}

/// Of a program that takes in what was retrieved.
static Status checkNeighborRequest(const program::Program &program,
                                   const ScoreRequest &request,
                                   const std::string &name) {
  uint64_t taken = neighborTokensOf(program);
  if (request.neighbors.empty())
    return invalidArgument("the model attends to what was retrieved for a "
                           "text, and nothing was for this one; `hocket eval "
                           "loss` measures it");
  if (request.neighbors.size() != taken)
    return invalidArgument(
        name + formatText(" has %zu tokens of neighbours, the program takes "
                          "%llu",
                          request.neighbors.size(), wide(taken)));
  return checkTokensOf(program, request.neighbors, name);
}

size_t inference::longestRequest(const program::Program &program) {
  return size_t(lengthOf(program)) + 1;
}

Status inference::checkRequests(const program::Program &program,
                                const std::vector<ScoreRequest> &requests) {
  for (size_t i = 0; i < requests.size(); ++i) {
    const ScoreRequest &request = requests[i];
    std::string name = formatText("request %zu", i + 1);
    if (program.training().has_span_corruption()) {
      HOCKET_RETURN_IF_ERROR(checkSpanRequest(program, request, name));
      continue;
    }
    if (isFramed(program)) {
      if (!request.hasLabels())
        return invalidArgument(
            std::string("the program tells ") +
            (program.training().has_masked_lm() ? "masked tokens"
                                                : "classes of texts") +
            ", and cannot be asked for the next token; `hocket eval loss` "
            "measures it");
      HOCKET_RETURN_IF_ERROR(checkMaskedRequest(program, request, name));
      continue;
    }
    if (program.training().has_images()) {
      HOCKET_RETURN_IF_ERROR(checkImageRequest(program, request, name));
      if (request.hasLabels())
        continue;
    }
    if (program.training().has_retrieval())
      HOCKET_RETURN_IF_ERROR(checkNeighborRequest(program, request, name));
    if (request.first < 1 || request.first >= request.tokens.size())
      return invalidArgument(name +
                             " asks about no token that has one before it");
    if (request.tokens.size() > longestRequest(program))
      return invalidArgument(
          name + formatText(" has %zu tokens, the program takes %zu",
                            request.tokens.size(), longestRequest(program)));
    HOCKET_RETURN_IF_ERROR(checkTokensOf(program, request.tokens, name));
  }
  return okStatus();
}

StatusOr<std::vector<Scores>>
inference::scoreOn(LoadedModel &model,
                   const std::vector<ScoreRequest> &requests) {
  return Scoring(model, requests).run();
}

StatusOr<std::vector<Scores>> inference::score(
    std::shared_ptr<const program::Program> program,
    const std::shared_ptr<const std::vector<ScoreRequest>> &requests,
    const ModelOptions &options) {
  HOCKET_RETURN_IF_ERROR(checkRequests(*program, *requests));
  Sha256 digest;
  for (const ScoreRequest &request : *requests) {
    uint64_t size = request.tokens.size();
    digest.update(&size, sizeof(size));
    digest.update(request.tokens.data(), size * sizeof(int32_t));
    for (const auto *list : {&request.labels, &request.types, &request.encoder,
                             &request.imageRows, &request.neighbors})
      digest.update(list->data(), list->size() * sizeof(int32_t));
    digest.update(request.pixels.data(), request.pixels.size() * sizeof(float));
  }
  struct Answers {
    std::mutex mutex;
    std::vector<Scores> scores; ///< The same from every rank.
  };
  auto answers = std::make_shared<Answers>();
  HOCKET_RETURN_IF_ERROR(
      runModel(std::move(program), options,
               {{"evaluates other text", toHex(digest.finish())}},
               [requests, answers](LoadedModel &model) -> Status {
                 HOCKET_ASSIGN_OR_RETURN(auto own, scoreOn(model, *requests));
                 std::lock_guard lock(answers->mutex);
                 answers->scores = std::move(own);
                 return okStatus();
               }));
  std::lock_guard lock(answers->mutex);
  return std::move(answers->scores);
}
