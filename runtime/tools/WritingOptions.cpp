//===- WritingOptions.cpp - How a model is to write -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/WritingOptions.h"

#include "runtime/tools/command_line/OptionValues.h"

using namespace hocket;
using inference::SamplingOptions;

SamplingOptions WritingOptions::chosenSampling() const {
  SamplingOptions chosen = sampling;
  if (greedy)
    chosen.temperature = 0;
  return chosen;
}

static void addSampling(CLI::App &command, WritingOptions &options) {
  SamplingOptions &sampling = options.sampling;
  constexpr double most = 1e6;
  CLI::Option *temperature = wantNumber(
      command.add_option("--temperature", sampling.temperature,
                         "Divides logits: below 1, likely tokens become "
                         "likelier; 0: take the likeliest"),
      0, most);
  temperature->capture_default_str();
  command
      .add_flag("--greedy", options.greedy,
                "Take the likeliest token, as --temperature 0")
      ->excludes(temperature);
  wantWhole(command.add_option("--top-k", sampling.topK,
                               "Draw from the K likeliest tokens; 0: from all"))
      ->type_name("K")
      ->capture_default_str();
  wantPositive(command.add_option("--top-p", sampling.topP,
                                  "Draw from the fewest likeliest tokens whose "
                                  "probabilities reach P; 1: from all"),
               1)
      ->type_name("P")
      ->capture_default_str();
  wantNumber(command.add_option("--min-p", sampling.minP,
                                "Draw from tokens at least P times as likely "
                                "as the likeliest; 0: from all"),
             0, 1)
      ->type_name("P")
      ->capture_default_str();
  wantPositive(command.add_option("--repetition-penalty",
                                  sampling.repetitionPenalty,
                                  "Divides positive logits of tokens that "
                                  "have occurred, and multiplies negative "
                                  "ones; 1: no penalty"),
               most)
      ->capture_default_str();
  wantWhole(command.add_option("--seed", sampling.seed,
                               "Seed of the sampling. A prompt's text "
                               "depends on it and on its position among the "
                               "prompts, but not on the other prompts"),
            0, std::numeric_limits<uint64_t>::max())
      ->type_name("N")
      ->capture_default_str();
}

void hocket::addWritingOptions(CLI::App &command, WritingOptions &options) {
  wantWhole(command.add_option("--tokens", options.tokens,
                               "The most tokens to generate for a prompt"))
      ->type_name("N")
      ->capture_default_str();
  addSampling(command, options);
  wantSomeText(command.add_option("--stop", options.stops,
                                  "End before this text; may be given "
                                  "several times"))
      ->type_name("STRING")
      ->allow_extra_args(false);
  command.add_flag("--ignore-eos", options.ignoreEnd,
                   "Continue after tokens that end a text: those of the "
                   "model's files, and the one that ends a document");
}
