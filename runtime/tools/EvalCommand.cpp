//===- EvalCommand.cpp - `hocket eval` ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/EvalCommand.h"

#include "runtime/base/Format.h"
#include "runtime/base/JsonLines.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/evaluate/ChoiceFiles.h"
#include "runtime/evaluate/WikiText.h"
#include "runtime/tokenizer/SourceText.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/EvalReport.h"
#include "runtime/tools/OptionValues.h"
#include "runtime/train/TrainingData.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace hocket;
using namespace hocket::evaluate;
using tokenizer::SourceText;
using tokenizer::Tokenizer;

namespace {

/// What all of its commands take.
struct EvalArguments {
  explicit EvalArguments(ProgramResolver resolver)
      : program(std::move(resolver)) {}

  ProgramInput program;
  std::string loadDir;
  std::optional<double> hangSeconds;
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
};

struct ChoiceArguments : EvalArguments {
  using EvalArguments::EvalArguments;
  std::string file, tokenizer;
};

/// A program that is about to be asked, and where its words go: standard
/// error, since what was measured goes to standard output.
class Evaluation {
public:
  static StatusOr<std::unique_ptr<Evaluation>> open(EvalArguments &arguments) {
    HOCKET_ASSIGN_OR_RETURN(std::optional<comm::Launch> launch,
                            comm::detectLaunch());
    auto result =
        std::unique_ptr<Evaluation>(new Evaluation(arguments, launch));
    HOCKET_RETURN_IF_ERROR(result->load());
    return result;
  }

  const program::Program &program() const { return *opened.program; }
  size_t window() const { return size_t(program().model().sequence_length()); }

  StatusOr<std::vector<Scores>> ask(std::vector<ScoreRequest> requests) {
    ScoreOptions options;
    options.loadDir = arguments.loadDir;
    options.hangSeconds = arguments.hangSeconds;
    options.output = output;
    auto answers = score(
        opened.program,
        std::make_shared<const std::vector<ScoreRequest>>(std::move(requests)),
        options);
    line.show("");
    return answers;
  }

  template <typename Report> Status print(const Report &report) const {
    if (launch && launch->rank != 0)
      return okStatus();
    std::cout << (arguments.json ? toJsonText(jsonOf(report)) + "\n"
                                 : textOf(report));
    return okStatus();
  }

private:
  Evaluation(EvalArguments &arguments, std::optional<comm::Launch> launch)
      : arguments(arguments), launch(std::move(launch)),
        line(std::cerr, terminalOf(this->launch, STDERR_FILENO)) {
    output.print = [this](const std::string &text) { line.print(text); };
    if (line.isTerminal())
      output.show = [this](const std::string &text) { line.show(text); };
  }

  Status load() {
    ProgramInput &input = arguments.program;
    if (input.input.empty() && !input.resolver.takesRuns)
      return invalidArgument("which program is to evaluate? Name an executable "
                             "(.hkx) that has the model of " +
                             arguments.loadDir);
    if (input.input.empty())
      input.input = arguments.loadDir;
    HOCKET_ASSIGN_OR_RETURN(opened, openProgram(input, output, launch));
    if (!opened.nativeNote.empty() && (!launch || launch->rank == 0))
      line.print(opened.nativeNote);
    return okStatus();
  }

  EvalArguments &arguments;
  const std::optional<comm::Launch> launch;
  StatusLine line;
  RunOutput output;
  OpenedProgram opened;
};

} // namespace

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static CLI::App *addEval(CLI::App &eval, const char *name, const char *summary,
                         EvalArguments &arguments) {
  CLI::App *command = addCommand(eval, name, summary);
  const ProgramResolver &resolver = arguments.program.resolver;
  CLI::Option *input = command->add_option(
      "INPUT", arguments.program.input,
      resolver.inputDescription +
          (resolver.takesRuns ? "; default: what RUN was trained from" : ""));
  if (!resolver.takesRuns)
    input->required();
  wantPath(command->add_option("--load", arguments.loadDir,
                               "The run, or the checkpoint, to measure"))
      ->required()
      ->type_name("RUN");
  return command;
}

/// Those that stand behind the command's own.
static void addCommonOptions(CLI::App &command, EvalArguments &arguments) {
  command.add_flag("--json", arguments.json,
                   "Print one JSON object instead of lines");
  constexpr double mostSeconds = 1e9;
  wantNumber(command.add_option("--hang-timeout", arguments.hangSeconds,
                                "Seconds without progress after which a rank "
                                "counts as hanging and ends the run; 0: never "
                                "(default: 7)"),
             0, mostSeconds)
      ->type_name("SECONDS");
  addProgramOptions(command, arguments.program);
}

static void addFile(CLI::App &command, std::string &file,
                    const std::string &help) {
  wantPath(command.add_option("--data", file, help))
      ->required()
      ->type_name("FILE");
}

static void addTokenizer(CLI::App &command, std::string &tokenizer) {
  command
      .add_option("--tokenizer", tokenizer,
                  "The one that the model was trained with: byte, or a file or "
                  "folder as for `hocket tokenizer`")
      ->required()
      ->type_name("PATH");
}

//===----------------------------------------------------------------------===//
// perplexity
//===----------------------------------------------------------------------===//

static Status runPerplexity(PerplexityArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(arguments.tokenizer));
  HOCKET_ASSIGN_OR_RETURN(SourceText file, SourceText::read(arguments.file));
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  HOCKET_ASSIGN_OR_RETURN(auto evaluation, Evaluation::open(arguments));
  PerplexityReport report;
  report.file = arguments.file;
  report.tokenizer = tokenizer->name();
  report.wikiText = arguments.wikiText;
  report.words = countSpacedWords(file.text);
  report.window = evaluation->window();
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
                          evaluation->ask(std::move(requests)));
  report.sum = sumOf(answers);
  return evaluation->print(report);
}

static void registerPerplexity(CLI::App &eval, Status &result,
                               ProgramResolver resolver) {
  auto arguments = std::make_shared<PerplexityArguments>(std::move(resolver));
  CLI::App *command = addEval(eval, "perplexity",
                              "How well a model predicts a text", *arguments);
  addFile(*command, arguments->file, "The text, UTF-8");
  addTokenizer(*command, arguments->tokenizer);
  wantWhole(command->add_option(
                "--stride", arguments->stride,
                "Tokens from the beginning of one window to that of the next; "
                "a small one gives every token more context, and takes longer "
                "(default: half a window, which is as long as the program's "
                "sequences)"),
            1)
      ->type_name("N");
  command->add_flag("--wikitext", arguments->wikiText,
                    "The text is WikiText as it is distributed: put its words "
                    "together again, as Megatron-LM does, and count them as "
                    "they were");
  addCommonOptions(*command, *arguments);
  command->footer("Example:\n  hocket eval perplexity --load run --data "
                  "wiki.test.tokens --wikitext --tokenizer gpt2 --stride 32");
  command->callback(
      [arguments, &result] { result = runPerplexity(*arguments); });
}

//===----------------------------------------------------------------------===//
// loss
//===----------------------------------------------------------------------===//

/// The samples of a split, in the order of training.
static StatusOr<std::vector<ScoreRequest>>
samplesOf(const LossArguments &arguments, const program::Program &program) {
  HOCKET_ASSIGN_OR_RETURN(
      auto checkpoint, checkpoint::Checkpoint::open(arguments.loadDir,
                                                    {.verifyDigests = false}));
  data::GptDatasetOptions options =
      datasetOptionsOf(program, checkpoint.state().seed);
  data::Split split = arguments.split == "test"    ? data::Split::Test
                      : arguments.split == "valid" ? data::Split::Valid
                                                   : data::Split::Train;
  if (arguments.split == "all")
    options.splitWeights = "1,0,0";
  options.cache.note = [](const std::string &line) {
    std::cerr << line + "\n";
  };
  data::RunLength run = runLengthOf(program, program.training().steps());
  HOCKET_ASSIGN_OR_RETURN(
      auto source,
      data::openRunSamples({arguments.data, {}}, options, run, split));
  uint64_t wanted =
      arguments.samples.value_or(program.training().valid_batches() *
                                 program.training().global_batch_size());
  uint64_t count = wanted ? std::min(wanted, source->size()) : source->size();
  std::vector<ScoreRequest> requests(count);
  for (uint64_t i = 0; i < count; ++i) {
    requests[i].tokens.resize(source->sequenceLength() + 1);
    HOCKET_RETURN_IF_ERROR(source->read(i, requests[i].tokens));
  }
  return requests;
}

static Status runLoss(LossArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto evaluation, Evaluation::open(arguments));
  HOCKET_ASSIGN_OR_RETURN(auto requests,
                          samplesOf(arguments, evaluation->program()));
  LossReport report;
  for (const std::string &word : arguments.data)
    report.data += (report.data.empty() ? "" : " ") + word;
  report.split = arguments.split;
  report.samples = requests.size();
  HOCKET_ASSIGN_OR_RETURN(std::vector<Scores> answers,
                          evaluation->ask(std::move(requests)));
  report.sum = sumOf(answers);
  return evaluation->print(report);
}

static void registerLoss(CLI::App &eval, Status &result,
                         ProgramResolver resolver) {
  auto arguments = std::make_shared<LossArguments>(std::move(resolver));
  CLI::App *command =
      addEval(eval, "loss", "The loss on token files", *arguments);
  command
      ->add_option("--data", arguments->data,
                   "Token files made by `hocket data prepare`, or a blend of "
                   "them, as for `hocket train`")
      ->required()
      ->type_name("PREFIX");
  wantOneOf(command->add_option("--split", arguments->split,
                                "Which share of the data, as training divides "
                                "it; all: all of it"),
            {"train", "valid", "test", "all"})
      ->capture_default_str();
  wantWhole(command->add_option("--samples", arguments->samples,
                                "How many sequences, from the first; 0: every "
                                "one (default: what training validates on, or "
                                "every one if it does not)"))
      ->type_name("N");
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
  HOCKET_ASSIGN_OR_RETURN(auto evaluation, Evaluation::open(arguments));
  ChoiceReport report;
  report.file = arguments.file;
  report.tokenizer = tokenizer->name();
  HOCKET_ASSIGN_OR_RETURN(auto requests,
                          choiceRequests(items, *tokenizer,
                                         longestRequest(evaluation->program()),
                                         report.shortened));
  HOCKET_ASSIGN_OR_RETURN(std::vector<Scores> answers,
                          evaluation->ask(std::move(requests)));
  report.figures = judgeChoices(items, answers);
  return evaluation->print(report);
}

static void registerChoice(CLI::App &eval, Status &result,
                           ProgramResolver resolver) {
  auto arguments = std::make_shared<ChoiceArguments>(std::move(resolver));
  CLI::App *command = addEval(
      eval, "choice", "Multiple choice: which answer is likeliest", *arguments);
  addFile(*command, arguments->file,
          "Questions: JSON lines with context, choices and label, or those of "
          "HellaSwag, ARC or PIQA; MNLI's .tsv; a folder of RACE's passages");
  addTokenizer(*command, arguments->tokenizer);
  addCommonOptions(*command, *arguments);
  command->footer(
      "A line of questions of one's own:\n  {\"context\": \"The sky "
      "is\", \"choices\": [\" blue\", \" loud\"], \"label\": 0}\n\n"
      "Example:\n  hocket eval choice --load run --data "
      "hellaswag_val.jsonl --tokenizer gpt2");
  command->callback([arguments, &result] { result = runChoice(*arguments); });
}

void hocket::registerEval(
    CLI::App &app, Status &result,
    const std::function<ProgramResolver()> &makeResolver) {
  CLI::App *eval = addCommand(app, "eval", "Measure a trained model");
  eval->require_subcommand(1);
  registerPerplexity(*eval, result, makeResolver());
  registerLoss(*eval, result, makeResolver());
  registerChoice(*eval, result, makeResolver());
}
