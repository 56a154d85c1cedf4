//===- Questions.cpp - What requests for texts have alike -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Questions.h"

#include "base/Format.h"
#include "runtime/inference/PromptNeighbors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

using namespace hocket;
using namespace hocket::serve;
using namespace hocket::inference;
using nlohmann::json;

static constexpr double mostSampling = 1e6;

StatusOr<std::vector<int32_t>>
ServedModel::tokensOf(const std::string &text) const {
  std::vector<int32_t> tokens = inference::promptOf(*program, *tokenizer, text);
  if (tokens.empty())
    return invalidArgument("the prompt has no token");
  return tokens;
}

uint64_t serve::randomSeed() {
  std::random_device device;
  return device();
}

static Status readSampling(RequestFields &fields, SamplingOptions &sampling) {
  uint64_t seed = randomSeed();
  HOCKET_RETURN_IF_ERROR(
      fields.read("temperature", sampling.temperature, 0, mostSampling));
  HOCKET_RETURN_IF_ERROR(fields.read("top_p", sampling.topP, 0, 1));
  HOCKET_RETURN_IF_ERROR(
      fields.read("top_k", sampling.topK, 0, mostTokens << 10));
  HOCKET_RETURN_IF_ERROR(fields.read("min_p", sampling.minP, 0, 1));
  HOCKET_RETURN_IF_ERROR(fields.read(
      "repetition_penalty", sampling.repetitionPenalty, 0, mostSampling));
  HOCKET_RETURN_IF_ERROR(
      fields.read("seed", seed, 0, std::numeric_limits<int64_t>::max()));
  sampling.seed = seed;
  HOCKET_RETURN_IF_ERROR(fields.expect("logit_bias", json::object()));
  for (const char *penalty : {"presence_penalty", "frequency_penalty"})
    HOCKET_RETURN_IF_ERROR(fields.expect(penalty, 0));
  return okStatus();
}

static Status readStream(RequestFields &fields, Completion &completion) {
  HOCKET_RETURN_IF_ERROR(fields.read("stream", completion.streams));
  const json *options = fields.find("stream_options");
  if (!options)
    return okStatus();
  if (!completion.streams)
    return invalidArgument("'stream_options' are of a 'stream'");
  HOCKET_ASSIGN_OR_RETURN(RequestFields inner,
                          RequestFields::within(*options, "stream_options"));
  HOCKET_RETURN_IF_ERROR(inner.read("include_usage", completion.tellsUsage));
  HOCKET_RETURN_IF_ERROR(inner.expect("continuous_usage_stats", false));
  return inner.checkNoneLeft();
}

/// Texts that were retrieved for what is asked; an empty list: none was found.
static Status readRetrieved(RequestFields &fields, GenerateRequest &request,
                            const ServedModel &model) {
  constexpr size_t mostTexts = 1024;
  if (!fields.find("retrieved"))
    return okStatus();
  std::vector<std::string> texts;
  HOCKET_RETURN_IF_ERROR(fields.read("retrieved", texts, mostTexts));
  auto neighbors = neighborsOf(*model.program, *model.tokenizer, texts);
  if (!neighbors.ok())
    return neighbors.status().withContext(fields.quoted("retrieved"));
  request.neighbors = std::move(*neighbors);
  return okStatus();
}

Status serve::readWriting(RequestFields &fields, Completion &completion,
                          Question &question, const ServedModel &model) {
  std::string name = model.name, user;
  bool ignoresEnd = false;
  HOCKET_RETURN_IF_ERROR(fields.read("model", name));
  if (name != model.name)
    return notFound("there is no model '" + name + "'; '" + model.name +
                    "' is served");
  question.request.sampling = model.defaults.over({});
  question.stops.texts = model.defaults.stops.value_or(question.stops.texts);
  HOCKET_RETURN_IF_ERROR(readSampling(fields, question.request.sampling));
  HOCKET_RETURN_IF_ERROR(
      fields.read("n", completion.choices, 1, mostQuestions));
  HOCKET_RETURN_IF_ERROR(fields.read("stop", question.stops.texts, 16));
  HOCKET_RETURN_IF_ERROR(fields.read("ignore_eos", ignoresEnd));
  if (!ignoresEnd)
    question.stops.tokens = model.ends;
  HOCKET_RETURN_IF_ERROR(readRetrieved(fields, question.request, model));
  HOCKET_RETURN_IF_ERROR(readStream(fields, completion));
  return fields.read("user", user);
}

/// How many tokens can follow a prompt of so many, which fits.
static uint64_t roomBehind(const ServedModel &model, uint64_t promptTokens) {
  // An encoder's decoder begins with one token of its own.
  bool isEncoded = inference::encoderLengthOf(*model.program) > 0;
  return lengthOf(*model.program) + 1 - (isEncoded ? 1 : promptTokens);
}

/// The prompt, and what is to be written behind it, must fit.
static Status fit(const ServedModel &model, GenerateRequest &request,
                  const std::string &countName) {
  HOCKET_RETURN_IF_ERROR(checkRequest(*model.program, request));
  uint64_t room = roomBehind(model, request.prompt.size());
  if (request.tokens > room && !countName.empty())
    return invalidArgument(formatText(
        "the prompt has %zu tokens and '%s' is %llu: the model sees %llu, so "
        "that at most %llu can follow",
        request.prompt.size(), countName.c_str(), wide(request.tokens),
        wide(lengthOf(*model.program)), wide(room)));
  request.tokens = std::min(request.tokens, room);
  return okStatus();
}

Status serve::checkCount(const Completion &completion, size_t prompts,
                         const ServedModel &model) {
  if (prompts * completion.choices > mostQuestions)
    return invalidArgument(
        formatText("the request asks for %zu x %llu texts, %llu are the most",
                   prompts, wide(completion.choices), wide(mostQuestions)));
  // Before there is a prompt of each.
  if (prompts * completion.choices > model.mostTexts)
    return resourceExhausted(formatText(
        "the request asks for %zu x %llu texts, the server takes %llu", prompts,
        wide(completion.choices), wide(model.mostTexts)));
  return okStatus();
}

Status serve::addQuestions(Completion &completion, Question question,
                           const ServedModel &model,
                           const std::string &countName) {
  HOCKET_RETURN_IF_ERROR(fit(model, question.request, countName));
  for (uint64_t i = 0; i < completion.choices; ++i) {
    Question &each = completion.questions.emplace_back(question);
    each.request.stream = completion.questions.size() - 1;
  }
  return okStatus();
}
