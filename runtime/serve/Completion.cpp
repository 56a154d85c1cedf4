//===- Completion.cpp - Requests for text, and what answers them ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Completion.h"

#include "base/Format.h"
#include "base/json/JsonDefect.h"
#include "runtime/inference/Stops.h"
#include "runtime/inference/TextStream.h"
#include "runtime/serve/ChatFormat.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::serve;
using namespace hocket::inference;
using nlohmann::json;
using nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// What is asked
//===----------------------------------------------------------------------===//

static StatusOr<std::vector<int32_t>> readTokens(const json &list) {
  std::vector<int32_t> tokens;
  for (const json &each : list) {
    if (!each.is_number_integer() || each < 0 ||
        each > std::numeric_limits<int32_t>::max())
      return invalidArgument("a prompt of tokens is a list of whole numbers");
    tokens.push_back(each.get<int32_t>());
  }
  if (tokens.empty())
    return invalidArgument("the prompt has no token");
  return tokens;
}

static bool isOfNumbers(const json &list) {
  return list.is_array() && !list.empty() && list.front().is_number();
}

/// A text, tokens, or a list of either.
static StatusOr<std::vector<std::vector<int32_t>>>
readPrompts(const json *field, const ServedModel &model,
            const std::string &name) {
  if (!field)
    return invalidArgument("there is no field '" + name + "'");
  json list = field->is_array() && !isOfNumbers(*field) ? *field
                                                        : json::array({*field});
  if (list.empty() || list.size() > mostQuestions)
    return invalidArgument(
        "'" + name +
        formatText("' has 1 to %llu prompts", wide(mostQuestions)));
  std::vector<std::vector<int32_t>> prompts;
  for (const json &each : list) {
    if (!each.is_string() && !each.is_array())
      return invalidArgument("'" + name +
                             "' is a text, or a list of tokens, "
                             "or a list of either");
    auto tokens = each.is_string() ? model.tokensOf(each.get<std::string>())
                                   : readTokens(each);
    if (!tokens.ok())
      return tokens.status().withContext("'" + name + "'");
    prompts.push_back(*std::move(tokens));
  }
  return prompts;
}

static Status addPrompts(Completion &completion, Question &question,
                         std::vector<std::vector<int32_t>> prompts,
                         const ServedModel &model,
                         const std::string &countName) {
  HOCKET_RETURN_IF_ERROR(checkCount(completion, prompts.size(), model));
  for (std::vector<int32_t> &prompt : prompts) {
    question.request.prompt = std::move(prompt);
    HOCKET_RETURN_IF_ERROR(
        addQuestions(completion, question, model, countName));
  }
  return okStatus();
}

/// The field that says how many tokens to write; empty where it is the model's
/// files that do, which know nothing of the prompt.
static std::string countName(RequestFields &fields, const std::string &name,
                             const ServedModel &model) {
  return model.defaults.tokens && !fields.find(name) ? "" : name;
}

static Status readOpenAi(RequestFields &fields, Completion &completion,
                         Question &question, const ServedModel &model) {
  GenerateRequest &request = question.request;
  uint64_t logprobs = 0;
  request.tokens = model.defaults.tokens.value_or(16);
  HOCKET_RETURN_IF_ERROR(readWriting(fields, completion, question, model));
  HOCKET_RETURN_IF_ERROR(
      fields.read("max_tokens", request.tokens, 0, mostTokens));
  HOCKET_RETURN_IF_ERROR(fields.read("echo", completion.echoes));
  HOCKET_RETURN_IF_ERROR(fields.read("logprobs", logprobs, 0, mostLikeliest));
  completion.hasLogProbs = fields.find("logprobs") != nullptr;
  request.likeliest = logprobs;
  request.tellsOfPrompt = completion.hasLogProbs && completion.echoes;
  HOCKET_RETURN_IF_ERROR(fields.expect("best_of", completion.choices));
  HOCKET_RETURN_IF_ERROR(fields.expect("suffix", ""));
  if (completion.streams && request.tellsOfPrompt)
    return invalidArgument("the prompt's 'logprobs' do not come as a 'stream'");
  return okStatus();
}

/// Images come in conversations alone.
static Status checkHasNoImage(const std::vector<int32_t> &prompt,
                              const ServedModel &model) {
  const auto &training = model.program->training();
  auto image = int32_t(training.images().image_token());
  if (!training.has_images() || std::ranges::count(prompt, image) == 0)
    return okStatus();
  return invalidArgument(
      "'prompt' has the token of an image, " +
      model.tokenizer->tokenText(image).value_or("") +
      formatText(" (%d): send texts about images to /v1/chat/completions",
                 image));
}

StatusOr<Completion> serve::parseCompletion(std::string_view body,
                                            const ServedModel &model) {
  HOCKET_ASSIGN_OR_RETURN(RequestFields fields, RequestFields::parse(body));
  Completion completion;
  Question question;
  HOCKET_RETURN_IF_ERROR(readOpenAi(fields, completion, question, model));
  HOCKET_ASSIGN_OR_RETURN(auto prompts,
                          readPrompts(fields.find("prompt"), model, "prompt"));
  HOCKET_RETURN_IF_ERROR(fields.checkNoneLeft());
  for (const std::vector<int32_t> &prompt : prompts)
    HOCKET_RETURN_IF_ERROR(checkHasNoImage(prompt, model));
  HOCKET_RETURN_IF_ERROR(addPrompts(completion, question, std::move(prompts),
                                    model,
                                    countName(fields, "max_tokens", model)));
  return completion;
}

/// Of Megatron's two cuts a request makes one, or none.
static Status readCuts(RequestFields &fields, SamplingOptions &sampling) {
  uint64_t topK = 0;
  double topP = 0; // Of all, as 1.
  HOCKET_RETURN_IF_ERROR(fields.read("top_k", topK, 0, 1000));
  HOCKET_RETURN_IF_ERROR(fields.read("top_p", topP, 0, 1));
  if (topP > 0 && topK > 0)
    return invalidArgument("'top_k' and 'top_p' cannot both be set");
  if (fields.find("top_k"))
    sampling.topK = topK;
  if (fields.find("top_p"))
    sampling.topP = topP > 0 ? topP : 1;
  return okStatus();
}

static Status readMegatron(RequestFields &fields, Completion &completion,
                           Question &question, bool &addsBegin) {
  GenerateRequest &request = question.request;
  SamplingOptions &sampling = request.sampling;
  bool logprobs = false, atLine = false, atParagraph = false, noLog = false;
  uint64_t seed = randomSeed();
  HOCKET_RETURN_IF_ERROR(
      fields.read("tokens_to_generate", request.tokens, 0, mostTokens));
  HOCKET_RETURN_IF_ERROR(
      fields.read("temperature", sampling.temperature, 0, 100));
  HOCKET_RETURN_IF_ERROR(readCuts(fields, sampling));
  HOCKET_RETURN_IF_ERROR(
      fields.read("random_seed", seed, 0, std::numeric_limits<int64_t>::max()));
  sampling.seed = seed;
  HOCKET_RETURN_IF_ERROR(fields.read("logprobs", logprobs));
  HOCKET_RETURN_IF_ERROR(fields.read("add_BOS", addsBegin));
  HOCKET_RETURN_IF_ERROR(fields.read("stop_on_eol", atLine));
  HOCKET_RETURN_IF_ERROR(fields.read("stop_on_double_eol", atParagraph));
  HOCKET_RETURN_IF_ERROR(fields.read("no_log", noLog));
  if (request.tokens == 0 && !logprobs)
    return invalidArgument("'tokens_to_generate' is 0, so 'logprobs' should be "
                           "true");
  if (fields.find("beam_width"))
    return invalidArgument("'beam_width': there is no beam search");
  if (atParagraph)
    question.stops.texts.emplace_back("\n\n");
  if (atLine)
    question.stops.texts.emplace_back("\n");
  completion.echoes = true;
  completion.hasLogProbs = request.tellsOfPrompt = logprobs;
  return okStatus();
}

StatusOr<Completion> serve::parseMegatron(std::string_view body,
                                          const ServedModel &model) {
  constexpr size_t mostPrompts = 128; // Megatron's.
  HOCKET_ASSIGN_OR_RETURN(RequestFields fields, RequestFields::parse(body));
  Completion completion;
  Question question;
  question.request.tokens = model.defaults.tokens.value_or(64);
  question.request.sampling = model.defaults.over({});
  question.stops = {model.defaults.stops.value_or(question.stops.texts),
                    model.ends};
  bool addsBegin = false;
  HOCKET_RETURN_IF_ERROR(readMegatron(fields, completion, question, addsBegin));
  const json *prompts = fields.find("prompts");
  if (!prompts || !prompts->is_array() || prompts->size() > mostPrompts)
    return invalidArgument(
        formatText("'prompts' is a list of 1 to %zu texts", mostPrompts));
  for (const json &each : *prompts)
    if (!each.is_string())
      return invalidArgument("'prompts' is a list of texts");
  HOCKET_ASSIGN_OR_RETURN(auto tokens, readPrompts(prompts, model, "prompts"));
  HOCKET_RETURN_IF_ERROR(fields.checkNoneLeft());
  if (addsBegin) {
    std::optional<int32_t> end = model.tokenizer->endOfDocument();
    if (!end)
      return invalidArgument("'add_BOS': the vocabulary has no such token");
    for (std::vector<int32_t> &prompt : tokens)
      if (prompt.front() != *end)
        prompt.insert(prompt.begin(), *end);
  }
  HOCKET_RETURN_IF_ERROR(
      addPrompts(completion, question, std::move(tokens), model,
                 countName(fields, "tokens_to_generate", model)));
  return completion;
}

//===----------------------------------------------------------------------===//
// What is answered
//===----------------------------------------------------------------------===//

static size_t countCharacters(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) {
    return (uint8_t(c) & 0xc0) != 0x80;
  }));
}

/// Parts of a choice's "logprobs", a token after another.
class LogProbs {
public:
  explicit LogProbs(const tokenizer::Tokenizer &tokenizer)
      : tokenizer(tokenizer) {}

  /// One that nothing stands before.
  void addFirst(int32_t token) { add(token, nullptr, nullptr); }

  void add(const PlacedToken &token, bool showsLikeliest) {
    ordered_json likeliest = ordered_json::object();
    for (const TokenChoice &choice : token.likeliest) {
      std::string name = pieceOf(tokenizer, choice.token);
      if (likeliest.contains(name))
        name = formatText("token_id:%d", choice.token);
      likeliest[name] = choice.logProbability;
    }
    add(token.token, token.logProbability,
        showsLikeliest ? std::move(likeliest) : ordered_json());
  }

  /// What has come since the last call; null if nothing has.
  ordered_json take() {
    if (tokens.empty())
      return nullptr;
    return {{"tokens", std::exchange(tokens, ordered_json::array())},
            {"token_logprobs", std::exchange(values, ordered_json::array())},
            {"top_logprobs", std::exchange(tops, ordered_json::array())},
            {"text_offset", std::exchange(offsets, ordered_json::array())}};
  }

private:
  void add(int32_t token, ordered_json value, ordered_json likeliest) {
    std::string piece = pieceOf(tokenizer, token);
    tokens.push_back(piece);
    values.push_back(std::move(value));
    tops.push_back(std::move(likeliest));
    offsets.push_back(offset);
    offset += countCharacters(piece);
  }

  const tokenizer::Tokenizer &tokenizer;
  ordered_json tokens = ordered_json::array(), values = tokens, tops = tokens,
               offsets = tokens;
  size_t offset = 0;
};

static std::string promptText(const Question &question,
                              const tokenizer::Tokenizer &tokenizer) {
  return toValidUtf8(tokenizer.decode(question.request.prompt));
}

static ordered_json headOf(const ServedModel &model, uint64_t number) {
  return answerHead("cmpl-", "text_completion", model, number);
}

static ordered_json logProbsOf(const Question &question,
                               const GeneratedText &text, bool echoes,
                               const tokenizer::Tokenizer &tokenizer) {
  LogProbs all(tokenizer);
  bool shows = question.request.likeliest > 0;
  if (echoes)
    all.addFirst(question.request.prompt.front());
  for (const PlacedToken &token : text.prompt)
    all.add(token, shows);
  for (size_t i = 0; i < text.tokens.size(); ++i)
    all.add({{text.tokens[i], text.logProbabilities[i]},
             shows ? text.likeliest[i] : std::vector<TokenChoice>()},
            shows);
  ordered_json result = all.take();
  return result.is_null() ? ordered_json(nullptr) : result;
}

ordered_json serve::completionJson(const Completion &completion,
                                   const std::vector<GeneratedText> &texts,
                                   const ServedModel &model, uint64_t number) {
  ordered_json choices = ordered_json::array();
  uint64_t written = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Question &question = completion.questions[i];
    written += texts[i].tokens.size();
    choices.push_back(
        {{"index", i},
         {"text",
          (completion.echoes ? promptText(question, *model.tokenizer) : "") +
              writtenText(question, texts[i], *model.tokenizer)},
         {"logprobs", completion.hasLogProbs
                          ? logProbsOf(question, texts[i], completion.echoes,
                                       *model.tokenizer)
                          : ordered_json(nullptr)},
         {"finish_reason", reasonOf(texts[i].finish)}});
  }
  ordered_json result = withChoices(headOf(model, number), std::move(choices));
  result["usage"] = usageOf(completion, written);
  return result;
}

/// Parts of one text that streams.
struct CompletionStream::Text {
  Text(const Question &question, const tokenizer::Tokenizer &tokenizer)
      : text(tokenizer, question.request.prompt.back(), question.stops),
        logProbs(tokenizer) {}
  TextStream text;
  LogProbs logProbs;
};

CompletionStream::CompletionStream(const Completion &completion,
                                   const ServedModel &model, uint64_t number)
    : AnswerStream(completion, headOf(model, number)), model(model),
      texts(completion.questions.size()) {}

CompletionStream::~CompletionStream() = default;

std::string CompletionStream::partOf(size_t index, const std::string &text,
                                     const char *finish) {
  return part(
      {{"index", index},
       {"text", text},
       {"logprobs", completion.hasLogProbs ? texts[index]->logProbs.take()
                                           : ordered_json(nullptr)},
       {"finish_reason",
        finish ? ordered_json(finish) : ordered_json(nullptr)}});
}

std::string CompletionStream::say(const Event &event) {
  const Question &question = completion.questions[event.index];
  std::string said;
  auto &text = texts[event.index];
  if (!text) {
    text = std::make_unique<Text>(question, *model.tokenizer);
    if (completion.echoes)
      said = promptText(question, *model.tokenizer);
  }
  if (event.text)
    return partOf(event.index, said + text->text.finish(),
                  reasonOf(event.text->finish));
  if (completion.hasLogProbs)
    text->logProbs.add(event.token, question.request.likeliest > 0);
  said += text->text.add(event.token.token);
  return said.empty() ? "" : partOf(event.index, said, nullptr);
}

ordered_json serve::megatronJson(const Completion &completion,
                                 const std::vector<GeneratedText> &texts,
                                 const ServedModel &model) {
  ordered_json all = ordered_json::array(), segments = all, logProbs = all;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Question &question = completion.questions[i];
    // Megatron's text has what ended it.
    all.push_back(promptText(question, *model.tokenizer) +
                  textBeforeStop(*model.tokenizer,
                                 question.request.prompt.back(),
                                 texts[i].tokens, {}));
    ordered_json pieces = ordered_json::array();
    ordered_json values = ordered_json::array();
    for (int32_t token : question.request.prompt)
      pieces.push_back(pieceOf(*model.tokenizer, token));
    for (int32_t token : texts[i].tokens)
      pieces.push_back(pieceOf(*model.tokenizer, token));
    for (const PlacedToken &token : texts[i].prompt)
      values.push_back(token.logProbability);
    for (float value : texts[i].logProbabilities)
      values.push_back(value);
    segments.push_back(std::move(pieces));
    logProbs.push_back(std::move(values));
  }
  return {{"text", std::move(all)},
          {"segments", std::move(segments)},
          {"logprobs", completion.hasLogProbs ? std::move(logProbs)
                                              : ordered_json(nullptr)}};
}

//===----------------------------------------------------------------------===//
// Tokens alone
//===----------------------------------------------------------------------===//

StatusOr<ordered_json> serve::tokenizeJson(std::string_view body,
                                           const ServedModel &model) {
  HOCKET_ASSIGN_OR_RETURN(RequestFields fields, RequestFields::parse(body));
  std::string name, text;
  HOCKET_RETURN_IF_ERROR(fields.read("model", name));
  std::vector<int32_t> tokens;
  if (fields.find("messages")) {
    HOCKET_ASSIGN_OR_RETURN(ChatOptions options, readChatOptions(fields));
    HOCKET_RETURN_IF_ERROR(fields.checkNoneLeft());
    Question question;
    HOCKET_RETURN_IF_ERROR(setPrompt(options, model, question));
    tokens = std::move(question.request.prompt);
  } else {
    HOCKET_RETURN_IF_ERROR(fields.require("prompt"));
    HOCKET_RETURN_IF_ERROR(fields.read("prompt", text));
    HOCKET_RETURN_IF_ERROR(fields.checkNoneLeft());
    model.tokenizer->encodePrompt(text, tokens);
  }
  return ordered_json{{"count", tokens.size()},
                      {"max_model_len", lengthOf(*model.program)},
                      {"tokens", tokens}};
}

StatusOr<ordered_json> serve::detokenizeJson(std::string_view body,
                                             const ServedModel &model) {
  HOCKET_ASSIGN_OR_RETURN(RequestFields fields, RequestFields::parse(body));
  std::string name;
  HOCKET_RETURN_IF_ERROR(fields.read("model", name));
  const json *list = fields.find("tokens");
  if (!list || !list->is_array())
    return invalidArgument("'tokens' is a list of whole numbers");
  std::vector<int32_t> tokens;
  if (!list->empty()) {
    HOCKET_ASSIGN_OR_RETURN(tokens, readTokens(*list));
  }
  HOCKET_RETURN_IF_ERROR(fields.checkNoneLeft());
  HOCKET_RETURN_IF_ERROR(checkTokensOf(*model.program, tokens, "'tokens'"));
  return ordered_json{{"prompt", model.tokenizer->decode(tokens)}};
}
