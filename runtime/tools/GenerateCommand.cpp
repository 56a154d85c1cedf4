//===- GenerateCommand.cpp - `hocket generate` ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/GenerateCommand.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "base/TextLines.h"
#include "base/json/JsonLines.h"
#include "base/json/JsonObject.h"
#include "runtime/inference/EndTokens.h"
#include "runtime/inference/Generate.h"
#include "runtime/inference/PromptNeighbors.h"
#include "runtime/inference/Stops.h"
#include "runtime/inference/TextStream.h"
#include "runtime/serve/Completion.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/text/SourceText.h"
#include "runtime/tools/ModelInput.h"
#include "runtime/tools/WritingOptions.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/LineEditor.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/OutputFile.h"
#include "runtime/train/Interrupt.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

using namespace hocket;
using namespace hocket::inference;
using nlohmann::json;
using nlohmann::ordered_json;
using tokenizer::Tokenizer;

namespace {

struct GenerateArguments : ModelInput, WritingOptions {
  using ModelInput::ModelInput;
  std::string tokenizer, promptFile, output = "-";
  std::optional<std::string> prompt;
  std::vector<std::string> images, retrieved; ///< Of --prompt.
  bool json = false;
  bool ignoresConfig = false;
};

/// How texts are written: as the command line says or, where it does not, the
/// model's files.
struct Writing {
  SamplingOptions sampling;
  uint64_t tokens = 0; ///< The most for a prompt.
  Stops stops;
};

/// A text, and what comes with it.
struct Prompt {
  std::string text;
  std::string place;                    ///< "prompts.jsonl:3", "--prompt"
  std::vector<std::string> images = {}; ///< Files.
  std::optional<std::vector<std::string>> retrieved = {}; ///< Texts.
};

} // namespace

//===----------------------------------------------------------------------===//
// Prompts
//===----------------------------------------------------------------------===//

/// The texts of a field of a line: one, or a list of them.
static StatusOr<std::vector<std::string>>
textsOf(const json &object, const char *name, const char *what) {
  std::vector<std::string> texts;
  if (!object.contains(name))
    return texts;
  const json &named = object[name];
  for (const json &each : named.is_array() ? named : json::array({named})) {
    if (!each.is_string())
      return invalidArgument(formatText("\"%s\" are %s", name, what));
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

/// Paths of "images" begin where the file lies that names them.
static StatusOr<std::vector<std::string>> imagesOf(const json &object,
                                                   const std::string &path) {
  constexpr const char *what = "paths of files";
  HOCKET_ASSIGN_OR_RETURN(std::vector<std::string> files,
                          textsOf(object, "images", what));
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (std::string &file : files) {
    if (file.empty() || file.find('\0') != std::string::npos)
      return invalidArgument(formatText("\"images\" are %s", what));
    file = (folder / file).string();
  }
  return files;
}

/// A line of JSON has a "prompt" or a "text"; a line of any other file is one.
static StatusOr<Prompt> promptOf(std::string_view line, bool isJson,
                                 const std::string &path, uint64_t number) {
  Prompt prompt{"", path + formatText(":%llu", wide(number))};
  if (!isJson) {
    prompt.text = line;
    return prompt;
  }
  HOCKET_ASSIGN_OR_RETURN(json object, parseJsonObject(line, path, number));
  auto images = imagesOf(object, path);
  auto retrieved = textsOf(object, "retrieved", "texts");
  for (const Status &status : {images.status(), retrieved.status()})
    if (!status.ok())
      return status.withContext(prompt.place);
  prompt.images = std::move(*images);
  if (object.contains("retrieved"))
    prompt.retrieved = std::move(*retrieved);
  for (const char *name : {"prompt", "text"})
    if (object.contains(name) && object[name].is_string()) {
      prompt.text = object[name].get<std::string>();
      return prompt;
    }
  return invalidArgument(prompt.place + ": no JSON object with a \"prompt\"");
}

static StatusOr<std::vector<Prompt>>
readPrompts(const GenerateArguments &arguments) {
  if (arguments.prompt) {
    Prompt prompt{*arguments.prompt, "--prompt", arguments.images};
    if (!arguments.retrieved.empty())
      prompt.retrieved = arguments.retrieved;
    return std::vector<Prompt>{std::move(prompt)};
  }
  tokenizer::SourceText file;
  if (arguments.promptFile == "-") {
    file.path = "standard input";
    file.text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    HOCKET_ASSIGN_OR_RETURN(file,
                            tokenizer::SourceText::read(arguments.promptFile));
  }
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  std::vector<Prompt> prompts;
  bool isJson = file.path.ends_with(".jsonl") || file.path.ends_with(".json");
  std::string_view rest = file.text;
  for (uint64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = takeLine(rest);
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    HOCKET_ASSIGN_OR_RETURN(Prompt prompt,
                            promptOf(line, isJson, file.path, number));
    prompts.push_back(std::move(prompt));
  }
  if (prompts.empty())
    return invalidArgument(file.path + ": there is no prompt in it");
  return prompts;
}

/// Reads the images of a prompt, whose tokens there are as many of then, and
/// what was retrieved for it.
static Status addWhatComesWith(const Prompt &prompt,
                               const program::Program &program,
                               const Tokenizer &tokenizer,
                               GenerateRequest &request) {
  for (const std::string &file : prompt.images) {
    HOCKET_ASSIGN_OR_RETURN(TowerImage image, readTowerImage(program, file));
    request.images.push_back(std::move(image));
  }
  if (prompt.retrieved) {
    HOCKET_ASSIGN_OR_RETURN(request.neighbors,
                            neighborsOf(program, tokenizer, *prompt.retrieved));
  }
  return expandImages(program, prompt.images.size(), request.prompt);
}

static StatusOr<Writing> writingOf(const GenerateArguments &arguments,
                                   const GenerationConfig &config,
                                   OpenedModel &model,
                                   const Tokenizer &tokenizer) {
  WritingChoices given = arguments.choices();
  if (model.isFirst())
    for (const std::string &note : config.notes(given))
      model.print(note);
  WritingChoices choices = given.orElse(config.choices);
  Writing writing;
  writing.sampling = choices.over({.seed = arguments.seed});
  writing.tokens = choices.tokens.value_or(usualTokens);
  // Read even where they do not matter: a damaged file is told of.
  HOCKET_ASSIGN_OR_RETURN(
      writing.stops.tokens,
      endTokensOf(model.program(), tokenizer, arguments.tokenizer));
  if (arguments.ignoreEnd)
    writing.stops.tokens.clear();
  writing.stops.texts = choices.stops.value_or(std::vector<std::string>());
  return writing;
}

static StatusOr<std::vector<GenerateRequest>>
requestsOf(const Writing &writing, const std::vector<Prompt> &prompts,
           const std::shared_ptr<const Tokenizer> &tokenizer,
           const program::Program &program) {
  std::vector<GenerateRequest> requests;
  for (size_t i = 0; i < prompts.size(); ++i) {
    GenerateRequest &request = requests.emplace_back();
    request.prompt = promptOf(program, *tokenizer, prompts[i].text);
    request.tokens = writing.tokens;
    request.stream = i;
    request.sampling = writing.sampling;
    request.ends =
        endsAt(tokenizer, request.prompt.empty() ? 0 : request.prompt.back(),
               writing.stops);
    Status status = addWhatComesWith(prompts[i], program, *tokenizer, request);
    if (status.ok())
      status = checkRequest(program, request);
    if (!status.ok())
      return status.withContext(prompts[i].place);
  }
  return requests;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// What was written, up to a stop string.
static ordered_json jsonOf(const std::string &prompt, const GeneratedText &text,
                           const std::string &written) {
  return {{"prompt", prompt},
          {"text", written},
          {"tokens", text.tokens},
          {"log_probabilities", text.logProbabilities},
          {"finish", finishName(text.finish)}};
}

/// "120 tokens in 8.2s, 14.7 tokens/s"
static std::string rateText(const GeneratedTexts &texts) {
  uint64_t tokens = 0;
  for (const GeneratedText &text : texts.texts)
    tokens += text.tokens.size();
  return formatNoun(tokens, "token") + " in " + formatDuration(texts.seconds) +
         ", " + formatCount(double(tokens) / std::max(texts.seconds, 1e-9)) +
         " tokens/s";
}

/// Before anything is written; by the process that will.
static Status checkFiles(const GenerateArguments &arguments) {
  std::error_code notThere;
  if (std::filesystem::equivalent(arguments.promptFile, arguments.output,
                                  notThere))
    return invalidArgument(arguments.output +
                           ": holds the prompts; name another file for what "
                           "is written");
  return checkOutput(arguments.output, OutputKind::Text);
}

static Status run(GenerateArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto opened,
                          tokenizer::openTokenizer(arguments.tokenizer));
  std::shared_ptr<const Tokenizer> tokenizer = std::move(opened);
  HOCKET_ASSIGN_OR_RETURN(std::vector<Prompt> prompts, readPrompts(arguments));
  HOCKET_ASSIGN_OR_RETURN(
      GenerationConfig config,
      openGenerationConfig(arguments.tokenizer, arguments.ignoresConfig));
  HOCKET_ASSIGN_OR_RETURN(auto model, OpenedModel::open(arguments));
  if (model->isFirst())
    HOCKET_RETURN_IF_ERROR(checkFiles(arguments));
  HOCKET_ASSIGN_OR_RETURN(Writing writing,
                          writingOf(arguments, config, *model, *tokenizer));
  HOCKET_ASSIGN_OR_RETURN(
      auto requests, requestsOf(writing, prompts, tokenizer, model->program()));
  bool isLive = arguments.prompt && !arguments.json &&
                isStandardOutput(arguments.output) && model->isFirst();
  TextStream live(*tokenizer, requests.front().prompt.back(), writing.stops);
  Generator::Listener listener;
  if (isLive)
    listener = [&, begun = false](uint64_t, const PlacedToken &token) mutable {
      if (!std::exchange(begun, true))
        std::cout << prompts.front().text;
      std::cout << live.add(token.token) << std::flush;
    };
  auto shared =
      std::make_shared<const std::vector<GenerateRequest>>(std::move(requests));
  auto texts = generate(model->shared(), shared, model->options(), listener);
  model->clearLine();
  HOCKET_RETURN_IF_ERROR(texts.status());
  if (!model->isFirst())
    return okStatus();
  if (isLive) {
    if (texts->texts.front().tokens.empty())
      std::cout << prompts.front().text;
    std::cout << live.finish() << std::endl;
    model->print(rateText(*texts));
    return okStatus();
  }
  std::string lines;
  for (size_t i = 0; i < texts->texts.size(); ++i) {
    const GeneratedText &text = texts->texts[i];
    lines +=
        toJsonText(jsonOf(prompts[i].text, text,
                          textBeforeStop(*tokenizer, (*shared)[i].prompt.back(),
                                         text.tokens, writing.stops))) +
        "\n";
  }
  model->print(rateText(*texts));
  return writeOutput(arguments.output, lines);
}

//===----------------------------------------------------------------------===//
// At a terminal
//===----------------------------------------------------------------------===//

/// What the model adds to `prompt`, printed as it comes.
static Status writeBehind(const std::string &prompt, const Writing &writing,
                          const serve::ServedModel &model,
                          serve::Engine &engine) {
  serve::Question question;
  GenerateRequest &request = question.request;
  HOCKET_ASSIGN_OR_RETURN(request.prompt, model.tokensOf(prompt));
  request.tokens = writing.tokens;
  request.sampling = writing.sampling;
  question.stops = writing.stops;
  HOCKET_RETURN_IF_ERROR(checkRequest(*model.program, request));
  TextStream text(*model.tokenizer, request.prompt.back(), writing.stops);
  HOCKET_ASSIGN_OR_RETURN(auto ticket, engine.ask({std::move(question)}));
  constexpr std::chrono::milliseconds patience(200);
  while (true) {
    HOCKET_ASSIGN_OR_RETURN(auto event, ticket->next(patience));
    if (!event)
      continue;
    std::cout << (event->text ? text.finish() : text.add(event->token.token))
              << std::flush;
    if (event->text)
      return okStatus();
  }
}

/// Each line that is typed is a prompt, until Ctrl-D or a signal.
static Status converse(GenerateArguments &arguments) {
  InterruptGuard guard;
  serve::ServedModel served;
  HOCKET_ASSIGN_OR_RETURN(auto opened,
                          tokenizer::openTokenizer(arguments.tokenizer));
  served.tokenizer = std::move(opened);
  HOCKET_ASSIGN_OR_RETURN(
      GenerationConfig config,
      openGenerationConfig(arguments.tokenizer, arguments.ignoresConfig));
  HOCKET_ASSIGN_OR_RETURN(auto model, OpenedModel::open(arguments));
  served.program = model->shared();
  HOCKET_ASSIGN_OR_RETURN(
      Writing writing, writingOf(arguments, config, *model, *served.tokenizer));
  auto engine = std::make_shared<serve::Engine>(served.tokenizer, 1);
  auto talk = [writing, served, engine] {
    while (auto line = readLine("> ", InterruptGuard::requested)) {
      if (line->empty())
        continue;
      Status status = writeBehind(*line, writing, served, *engine);
      std::cout << std::endl;
      if (!status.ok() && !InterruptGuard::requested())
        std::cerr << status.message() << std::endl;
    }
    std::cout << std::endl;
    engine->stop();
  };
  Status status = runModel(served.program, model->options(), {},
                           [engine, talk](LoadedModel &loaded) {
                             std::thread talking;
                             if (loaded.isFirst())
                               talking = std::thread(talk);
                             Status ended = engine->run(loaded);
                             if (talking.joinable())
                               talking.join();
                             return ended;
                           });
  model->clearLine();
  return status;
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

void hocket::registerGenerate(CLI::App &app, Status &result,
                              ProgramResolver resolver) {
  auto arguments = std::make_shared<GenerateArguments>(std::move(resolver));
  CLI::App *command = addCommand(app, "generate",
                                 "Generate text with a "
                                 "trained model");
  addModelInput(*command, *arguments);
  addModelTokenizer(*command, arguments->tokenizer);
  CLI::Option *prompt = wantText(command->add_option(
      "--prompt", arguments->prompt,
      "The text to continue; it is printed with its continuation, as it is "
      "generated. Without it, at a terminal, each line that you type"));
  prompt->type_name("PROMPT");
  CLI::Option *prompts =
      command->add_option("--prompts", arguments->promptFile,
                          "Prompts, one per line: JSON objects with a "
                          "\"prompt\", and \"images\" or \"retrieved\" if it "
                          "has any (.jsonl), or plain text; -: standard input");
  prompts->type_name("FILE")->excludes(prompt);
  wantPath(command->add_option(
               "--image", arguments->images,
               "An image (PNG or JPEG) of --prompt, one for each <image> in "
               "it, in their order"))
      ->type_name("FILE")
      ->needs(prompt)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  wantText(command->add_option(
               "--retrieved", arguments->retrieved,
               "A text that was retrieved for --prompt, which a model with "
               "model.retrieval attends to in every chunk; up to as many as "
               "its neighbors"))
      ->type_name("RETRIEVED")
      ->needs(prompt)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option(
          "-o,--output", arguments->output,
          "Write a JSON object for each of --prompts here: prompt, text, "
          "tokens, log_probabilities, finish; -: standard output")
      ->type_name("FILE")
      ->capture_default_str();
  addWritingOptions(*command, *arguments,
                    "the model's, or " + std::to_string(usualTokens));
  addGenerationConfigUse(*command, arguments->ignoresConfig);
  command->add_flag("--json", arguments->json,
                    "Also print a JSON object for --prompt, at the end");
  addGraphUse(*command, *arguments);
  addModelOptions(*command, *arguments);
  command->footer(
      "The text for a prompt is the same under every plan of one precision, "
      "up to rounding, and bit for bit the same whatever the other prompts "
      "are.\n"
      "\n"
      "Example:\n"
      "  hocket generate --load run --tokenizer gpt2 --prompt \"Once upon a "
      "time\" --tokens 100 --top-p 0.9\n"
      "  hocket generate --load run --tokenizer gpt2 --prompts prompts.jsonl "
      "-o texts.jsonl --greedy");
  command->callback([arguments, &result, prompt, prompts] {
    if (prompt->count() + prompts->count() > 0)
      result = run(*arguments);
    else if (isConversation())
      result = converse(*arguments);
    else
      result = invalidArgument("nothing to go on from: give --prompt PROMPT or "
                               "--prompts FILE, or ask from a terminal");
  });
}
