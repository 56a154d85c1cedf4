//===- EvalCommand.cpp - `hocket eval` ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/EvalCommand.h"

#include "base/Format.h"
#include "base/json/JsonLines.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/evaluate/ChoiceFiles.h"
#include "runtime/evaluate/Lambada.h"
#include "runtime/evaluate/WikiText.h"
#include "runtime/tokenizer/text/SourceText.h"
#include "runtime/tools/EvalReport.h"
#include "runtime/tools/ModelInput.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/train/TrainingData.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::evaluate;
using namespace hocket::inference;
using tokenizer::SourceText;

namespace {

/// What all of its commands take.
struct EvalArguments : ModelInput {
  using ModelInput::ModelInput;
  bool json = false;
};

struct PerplexityArguments : EvalArguments {
  using EvalArguments::EvalArguments;
  std::string file, tokenizer;
  std::optional<size_t> stride;
  bool wikiText = false;
};

struct LossArguments : EvalArguments {
  using EvalArguments::EvalArguments;
  std::vector<std::string> data;
  std::string split = "valid";
  std::optional<uint64_t> samples;
  bool each = false;
};

struct ChoiceArguments : EvalArguments {
  using EvalArguments::EvalArguments;
  std::string file, tokenizer;
};

struct LambadaArguments : EvalArguments {
  using EvalArguments::EvalArguments;
  std::string file, tokenizer;
  bool strict = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// What all of them do
//===----------------------------------------------------------------------===//

static CLI::App *addEval(CLI::App &eval, const char *name, const char *summary,
                         EvalArguments &arguments) {
  CLI::App *command = addCommand(eval, name, summary);
  addModelInput(*command, arguments);
  return command;
}

/// Those that stand behind the command's own.
static void addCommonOptions(CLI::App &command, EvalArguments &arguments) {
  command.add_flag("--json", arguments.json,
                   "Print one JSON object instead of lines");
  addModelOptions(command, arguments);
}

static StatusOr<std::vector<Scores>> ask(OpenedModel &model,
                                         std::vector<ScoreRequest> requests) {
  auto answers = score(
      model.shared(),
      std::make_shared<const std::vector<ScoreRequest>>(std::move(requests)),
      model.options());
  model.clearLine();
  return answers;
}

template <typename Report>
static Status print(const OpenedModel &model, const EvalArguments &arguments,
                    const Report &report) {
  if (model.isFirst())
    std::cout << (arguments.json ? toJsonText(jsonOf(report)) + "\n"
                                 : textOf(report));
  return okStatus();
}

static void addFile(CLI::App &command, std::string &file,
                    const std::string &help) {
  wantPath(command.add_option("--data", file, help))
      ->required()
      ->type_name("FILE");
}

//===----------------------------------------------------------------------===//
// perplexity
//===----------------------------------------------------------------------===//

static Status runPerplexity(PerplexityArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(arguments.tokenizer));
  HOCKET_ASSIGN_OR_RETURN(SourceText file, SourceText::read(arguments.file));
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  HOCKET_ASSIGN_OR_RETURN(auto model, OpenedModel::open(arguments));
  PerplexityReport report;
  report.file = arguments.file;
  report.tokenizer = tokenizer->name();
  report.wikiText = arguments.wikiText;
  report.words = countSpacedWords(file.text);
  report.window = size_t(lengthOf(model->program()));
  report.stride =
      arguments.stride.value_or(std::max<size_t>(report.window / 2, 1));
  if (report.stride > report.window)
    return invalidArgument(
        formatText("--stride %zu would leave out tokens between windows of %zu",
                   report.stride, report.window));
  std::vector<int32_t> tokens;
  tokenizer->encode(arguments.wikiText ? joinWikiText(file.text) : file.text,
                    tokens);
  auto requests = slidingWindows(tokens, report.window, report.stride);
  if (requests.empty())
    return invalidArgument(arguments.file +
                           ": there are fewer than two tokens in it");
  HOCKET_ASSIGN_OR_RETURN(std::vector<Scores> answers,
                          ask(*model, std::move(requests)));
  report.sum = sumOf(answers);
  return print(*model, arguments, report);
}

static void registerPerplexity(CLI::App &eval, Status &result,
                               ProgramResolver resolver) {
  auto arguments = std::make_shared<PerplexityArguments>(std::move(resolver));
  CLI::App *command = addEval(eval, "perplexity",
                              "How well a model predicts a text", *arguments);
  addFile(*command, arguments->file, "The text, UTF-8");
  addModelTokenizer(*command, arguments->tokenizer);
  wantWhole(command->add_option(
                "--stride", arguments->stride,
                "Tokens from the start of one window to the start of the "
                "next. A smaller stride gives tokens more context, and takes "
                "longer (default: half a window; a window is as long as the "
                "program's sequences)"),
            1)
      ->type_name("N");
  command->add_flag("--wikitext", arguments->wikiText,
                    "The text is WikiText as it is distributed: restore the "
                    "original text, as Megatron-LM does, and count its words "
                    "as they were");
  addCommonOptions(*command, *arguments);
  command->footer("Example:\n  hocket eval perplexity --load run --data "
                  "wiki.test.tokens --wikitext --tokenizer gpt2 --stride 32");
  command->callback(
      [arguments, &result] { result = runPerplexity(*arguments); });
}

//===----------------------------------------------------------------------===//
// loss
//===----------------------------------------------------------------------===//

static data::Split splitOf(const LossArguments &arguments) {
  return arguments.split == "test"    ? data::Split::Test
         : arguments.split == "valid" ? data::Split::Valid
                                      : data::Split::Train;
}

/// What is said takes the place of all data of the specification.
static data::RunData dataOf(const LossArguments &arguments,
                            const program::Program &program) {
  data::RunData from;
  from.data = arguments.data;
  if (arguments.data.empty())
    from = runDataOf(program, {}, {});
  if (arguments.split == "all") {
    from.validData.clear();
    from.testData.clear();
  }
  return from;
}

/// A sample without its padding.
static Status readFramed(const data::SampleSource &source, uint64_t number,
                         ScoreRequest &request) {
  for (auto *list : {&request.tokens, &request.labels, &request.types})
    list->resize(source.sequenceLength());
  data::FramedSample sample;
  sample.tokens = request.tokens;
  sample.labels = request.labels;
  sample.types = request.types;
  HOCKET_RETURN_IF_ERROR(source.readFramed(number, sample));
  for (auto *list : {&request.tokens, &request.labels, &request.types})
    list->resize(sample.length);
  request.asksLikeliest = true;
  return okStatus();
}

/// Of one epoch of labelled texts the first `most`, 0: all; each with all
/// `sequences` that a question has.
static StatusOr<std::vector<ScoreRequest>>
labelledSamples(const data::SampleSource &source, uint64_t most,
                uint64_t sequences) {
  std::vector<ScoreRequest> requests;
  for (uint64_t i = 0; i < source.epochSize(); ++i) {
    if (most > 0 && i / sequences == most)
      break;
    HOCKET_ASSIGN_OR_RETURN(auto texts, source.segments(i));
    if (texts.empty()) // It fills the last step.
      continue;
    HOCKET_RETURN_IF_ERROR(readFramed(source, i, requests.emplace_back()));
  }
  return requests;
}

/// How many of each class were told.
static ClassAccuracy classAccuracy(std::vector<std::string> names,
                                   const std::vector<ScoreRequest> &requests,
                                   const std::vector<Scores> &answers) {
  ClassAccuracy classes(std::move(names));
  for (size_t i = 0; i < requests.size(); ++i)
    if (requests[i].labels.front() >= 0) // Of a question the first sequence.
      classes.add(size_t(requests[i].labels.front()),
                  answers[i].likeliest.front());
  return classes;
}

/// A sample without the padding of the decoder. That of the encoder is seen.
static Status readSpans(const data::SampleSource &source, uint64_t number,
                        ScoreRequest &request) {
  request.encoder.resize(source.encoderLength());
  for (auto *list : {&request.tokens, &request.labels})
    list->resize(source.sequenceLength());
  data::SpanSample sample{request.encoder, request.tokens, request.labels};
  HOCKET_RETURN_IF_ERROR(source.readSpans(number, sample));
  auto told = std::ranges::count_if(request.labels,
                                    [](int32_t label) { return label >= 0; });
  for (auto *list : {&request.tokens, &request.labels})
    list->resize(size_t(told));
  return okStatus();
}

/// A sample as training has it: what is not learned has no label.
static Status readImages(const data::SampleSource &source, uint64_t number,
                         const program::Program &program,
                         ScoreRequest &request) {
  data::Batch batch;
  HOCKET_RETURN_IF_ERROR(
      data::readBatch(source, number, 1, batch, documentMarksOf(program)));
  HOCKET_RETURN_IF_ERROR(addClassRows(program, batch));
  request.tokens = std::move(batch.tokens);
  request.labels = std::move(batch.labels);
  request.pixels = std::move(batch.pixels);
  request.imageRows = std::move(batch.imageRows);
  return okStatus();
}

/// The samples of a split, in the order of training.
static StatusOr<std::vector<ScoreRequest>>
samplesOf(const LossArguments &arguments, const program::Program &program,
          std::vector<std::string> &classNames) {
  HOCKET_ASSIGN_OR_RETURN(
      auto checkpoint, checkpoint::Checkpoint::open(arguments.loadDir,
                                                    {.verifyDigests = false}));
  data::GptDatasetOptions options =
      datasetOptionsOf(program, checkpoint.state().seed);
  data::Split split = splitOf(arguments);
  if (arguments.split == "all")
    options.splitWeights = "1,0,0";
  options.cache.note = [](const std::string &line) {
    std::cerr << line + "\n";
  };
  data::RunLength run = runLengthOf(program, program.training().steps());
  HOCKET_ASSIGN_OR_RETURN(
      auto source,
      data::openRunSamples(dataOf(arguments, program), options, run, split));
  classNames = source->classNames();
  if (source->epochSize() > 0)
    return labelledSamples(*source, arguments.samples.value_or(0),
                           program.training().classification().sequences());
  uint64_t wanted =
      arguments.samples.value_or(program.training().valid_batches() *
                                 program.training().global_batch_size());
  uint64_t count = wanted ? std::min(wanted, source->size()) : source->size();
  std::vector<ScoreRequest> requests(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (source->isFramed()) {
      HOCKET_RETURN_IF_ERROR(readFramed(*source, i, requests[i]));
      continue;
    }
    if (source->encoderLength() > 0) {
      HOCKET_RETURN_IF_ERROR(readSpans(*source, i, requests[i]));
      continue;
    }
    if (source->imageShape().images > 0) {
      HOCKET_RETURN_IF_ERROR(readImages(*source, i, program, requests[i]));
      continue;
    }
    requests[i].tokens.resize(source->sequenceLength() + 1);
    HOCKET_RETURN_IF_ERROR(source->read(i, requests[i].tokens));
    if (source->neighborShape().neighbors > 0) {
      requests[i].neighbors.resize(
          source->neighborShape().tokens(source->sequenceLength()));
      HOCKET_RETURN_IF_ERROR(source->readNeighbors(i, requests[i].neighbors));
    }
    if (!source->hasPrefixes())
      continue;
    std::vector<uint8_t> learned(requests[i].tokens.size());
    HOCKET_RETURN_IF_ERROR(source->readLearned(i, learned));
    requests[i].first = data::prefixOf(learned);
  }
  return requests;
}

/// Leaves out what training masks: what follows the end of a document.
static void leaveOutMasked(const data::DocumentMarks &documents,
                           const std::vector<ScoreRequest> &requests,
                           std::vector<Scores> &answers) {
  if (!documents.masksLabels)
    return;
  for (size_t r = 0; r < requests.size(); ++r) {
    if (requests[r].hasLabels()) // Which leave it out themselves.
      continue;
    std::vector<float> kept;
    for (size_t i = 0; i < answers[r].logProbabilities.size(); ++i)
      if (requests[r].tokens[i] != documents.end)
        kept.push_back(answers[r].logProbabilities[i]);
    answers[r].logProbabilities = std::move(kept);
  }
}

static Status runLoss(LossArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto model, OpenedModel::open(arguments));
  if (arguments.data.empty() &&
      model->program().training().train_data().empty())
    return invalidArgument("--data is missing, and the specification names "
                           "none (training.data.train)");
  std::vector<std::string> names;
  HOCKET_ASSIGN_OR_RETURN(auto requests,
                          samplesOf(arguments, model->program(), names));
  LossReport report;
  data::RunData data = dataOf(arguments, model->program());
  for (const std::string &word : data.wordsOf(splitOf(arguments)))
    report.data += (report.data.empty() ? "" : " ") + word;
  report.split = arguments.split;
  report.samples = requests.size();
  HOCKET_ASSIGN_OR_RETURN(std::vector<Scores> answers, ask(*model, requests));
  leaveOutMasked(documentMarksOf(model->program()), requests, answers);
  report.sum = sumOf(answers);
  if (model->program().training().has_masked_lm()) {
    report.right = 0;
    for (const Scores &scores : answers)
      *report.right += uint64_t(std::ranges::count(scores.likeliest, true));
  }
  if (!names.empty()) {
    report.classes = classAccuracy(std::move(names), requests, answers);
    report.samples = report.classes->samples();
  }
  if (arguments.each) {
    report.requests = std::move(requests);
    report.answers = std::move(answers);
  }
  return print(*model, arguments, report);
}

static void registerLoss(CLI::App &eval, Status &result,
                         ProgramResolver resolver) {
  auto arguments = std::make_shared<LossArguments>(std::move(resolver));
  CLI::App *command = addEval(
      eval, "loss",
      "The loss on token files, and the accuracy on masked tokens or by class",
      *arguments);
  command
      ->add_option("--data", arguments->data,
                   "Token files made by `hocket data prepare`, or a blend of "
                   "them, as for `hocket train`. Default: the data of the "
                   "specification, each split its own")
      ->type_name("PREFIX");
  wantOneOf(command->add_option("--split", arguments->split,
                                "Which share of the data, as training divides "
                                "it; all: all of it"),
            {"train", "valid", "test", "all"})
      ->capture_default_str();
  wantWhole(command->add_option("--samples", arguments->samples,
                                "How many sequences, from the first; 0: all "
                                "(default: as many as training validates on, "
                                "or all)"))
      ->type_name("N");
  command->add_flag("--each", arguments->each,
                    "With --json, also print each sample's tokens and their "
                    "log-probabilities");
  addCommonOptions(*command, *arguments);
  command->footer("Example:\n  hocket eval loss --load run --data data/books "
                  "--split test --samples 0");
  command->callback([arguments, &result] { result = runLoss(*arguments); });
}

//===----------------------------------------------------------------------===//
// choice
//===----------------------------------------------------------------------===//

static Status runChoice(ChoiceArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(arguments.tokenizer));
  HOCKET_ASSIGN_OR_RETURN(auto items, readChoices(arguments.file));
  HOCKET_ASSIGN_OR_RETURN(auto model, OpenedModel::open(arguments));
  ChoiceReport report;
  report.file = arguments.file;
  report.tokenizer = tokenizer->name();
  HOCKET_ASSIGN_OR_RETURN(auto requests,
                          choiceRequests(items, *tokenizer,
                                         longestRequest(model->program()),
                                         report.shortened));
  HOCKET_ASSIGN_OR_RETURN(std::vector<Scores> answers,
                          ask(*model, std::move(requests)));
  report.figures = judgeChoices(items, answers);
  return print(*model, arguments, report);
}

static void registerChoice(CLI::App &eval, Status &result,
                           ProgramResolver resolver) {
  auto arguments = std::make_shared<ChoiceArguments>(std::move(resolver));
  CLI::App *command = addEval(
      eval, "choice", "Multiple choice: which answer is likeliest", *arguments);
  addFile(*command, arguments->file,
          "Questions: JSON lines with context, choices and label, or those of "
          "HellaSwag, ARC or PIQA; MNLI's .tsv; a folder of RACE's passages");
  addModelTokenizer(*command, arguments->tokenizer);
  addCommonOptions(*command, *arguments);
  command->footer(
      "A line of questions of one's own:\n  {\"context\": \"The sky "
      "is\", \"choices\": [\" blue\", \" loud\"], \"label\": 0}\n\n"
      "Example:\n  hocket eval choice --load run --data "
      "hellaswag_val.jsonl --tokenizer gpt2");
  command->callback([arguments, &result] { result = runChoice(*arguments); });
}

//===----------------------------------------------------------------------===//
// lambada
//===----------------------------------------------------------------------===//

static Status runLambada(LambadaArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(arguments.tokenizer));
  HOCKET_ASSIGN_OR_RETURN(auto passages, readPassages(arguments.file));
  HOCKET_ASSIGN_OR_RETURN(auto model, OpenedModel::open(arguments));
  LambadaReport report;
  report.file = arguments.file;
  report.tokenizer = tokenizer->name();
  report.strict = arguments.strict;
  auto requests = lambadaRequests(
      passages, arguments.strict ? LastWord::Whole : LastWord::Token,
      *tokenizer, longestRequest(model->program()), report.shortened);
  if (!requests.ok())
    return requests.status().withContext(arguments.file);
  HOCKET_ASSIGN_OR_RETURN(std::vector<Scores> answers,
                          ask(*model, *std::move(requests)));
  report.figures = judgeLambada(answers);
  return print(*model, arguments, report);
}

static void registerLambada(CLI::App &eval, Status &result,
                            ProgramResolver resolver) {
  auto arguments = std::make_shared<LambadaArguments>(std::move(resolver));
  CLI::App *command = addEval(eval, "lambada",
                              "Whether the last word of a passage is "
                              "predicted",
                              *arguments);
  addFile(*command, arguments->file,
          "JSON lines, each with a passage as its \"text\"");
  addModelTokenizer(*command, arguments->tokenizer);
  command->add_flag("--strict", arguments->strict,
                    "Guess the whole last word; without this, the last token, "
                    "whatever it is part of, as Megatron-LM does");
  addCommonOptions(*command, *arguments);
  command->footer("Example:\n  hocket eval lambada --load run --data "
                  "lambada_test.jsonl --strict --tokenizer gpt2");
  command->callback([arguments, &result] { result = runLambada(*arguments); });
}

void hocket::registerEval(
    CLI::App &app, Status &result,
    const std::function<ProgramResolver()> &makeResolver) {
  CLI::App *eval = addCommand(app, "eval", "Measure a trained model");
  eval->require_subcommand(1);
  registerPerplexity(*eval, result, makeResolver());
  registerLoss(*eval, result, makeResolver());
  registerChoice(*eval, result, makeResolver());
  registerLambada(*eval, result, makeResolver());
}
