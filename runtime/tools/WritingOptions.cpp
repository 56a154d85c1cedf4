//===- WritingOptions.cpp - How a model is to write -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/WritingOptions.h"

#include "runtime/tools/command_line/OptionValues.h"

using namespace hocket;
using namespace hocket::inference;

WritingChoices WritingOptions::choices() const {
  WritingChoices chosen = given;
  if (greedy)
    chosen.temperature = 0;
  if (!stops.empty())
    chosen.stops = stops;
  return chosen;
}

static void addSampling(CLI::App &command, WritingOptions &options) {
  WritingChoices &given = options.given;
  constexpr double most = 1e6;
  CLI::Option *temperature = wantNumber(
      command.add_option("--temperature", given.temperature,
                         "Divides logits: below 1, likely tokens become "
                         "likelier; 0: take the likeliest (default: the "
                         "model's, or 1)"),
      0, most);
  command
      .add_flag("--greedy", options.greedy,
                "Take the likeliest token, as --temperature 0")
      ->excludes(temperature);
  wantWhole(command.add_option("--top-k", given.topK,
                               "Draw from the K likeliest tokens; 0: from all "
                               "(default: the model's, or 0)"))
      ->type_name("K");
  wantPositive(command.add_option("--top-p", given.topP,
                                  "Draw from the fewest likeliest tokens whose "
                                  "probabilities reach P; 1: from all "
                                  "(default: the model's, or 1)"),
               1)
      ->type_name("P");
  wantNumber(command.add_option("--min-p", given.minP,
                                "Draw from tokens at least P times as likely "
                                "as the likeliest; 0: from all (default: the "
                                "model's, or 0)"),
             0, 1)
      ->type_name("P");
  wantPositive(command.add_option("--repetition-penalty",
                                  given.repetitionPenalty,
                                  "Divides positive logits of tokens that "
                                  "have occurred, and multiplies negative "
                                  "ones; 1: no penalty (default: the model's, "
                                  "or 1)"),
               most);
  wantWhole(command.add_option("--seed", options.seed,
                               "Seed of the sampling. A prompt's text "
                               "depends on it and on its position among the "
                               "prompts, but not on the other prompts"),
            0, std::numeric_limits<uint64_t>::max())
      ->type_name("N")
      ->capture_default_str();
}

void hocket::addWritingOptions(CLI::App &command, WritingOptions &options,
                               const std::string &defaultTokens) {
  wantWhole(command.add_option("--tokens", options.given.tokens,
                               "The most tokens to generate for a prompt "
                               "(default: " +
                                   defaultTokens + ")"))
      ->type_name("N");
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

void hocket::addGenerationConfigUse(CLI::App &command, bool &ignores) {
  command.add_flag("--ignore-generation-config", ignores,
                   "Do not take defaults from the model's "
                   "generation_config.json: temperature, top_k, top_p, min_p, "
                   "repetition_penalty, do_sample, max_new_tokens, "
                   "stop_strings");
}

StatusOr<GenerationConfig>
hocket::openGenerationConfig(const std::string &tokenizer, bool ignores) {
  return ignores ? GenerationConfig() : readGenerationConfig(tokenizer);
}
