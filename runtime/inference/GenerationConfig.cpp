//===- GenerationConfig.cpp - How a model's files have it write -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/GenerationConfig.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/json/JsonObject.h"
#include "runtime/chat/ChatTemplate.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

using namespace hocket;
using namespace hocket::inference;
using nlohmann::json;

//===----------------------------------------------------------------------===//
// WritingChoices
//===----------------------------------------------------------------------===//

SamplingOptions WritingChoices::over(SamplingOptions options) const {
  options.temperature = temperature.value_or(options.temperature);
  options.topK = topK.value_or(options.topK);
  options.topP = topP.value_or(options.topP);
  options.minP = minP.value_or(options.minP);
  options.repetitionPenalty =
      repetitionPenalty.value_or(options.repetitionPenalty);
  return options;
}

WritingChoices WritingChoices::orElse(const WritingChoices &others) const {
  WritingChoices both = *this;
  auto fill = [](auto &own, const auto &other) {
    if (!own)
      own = other;
  };
  fill(both.temperature, others.temperature);
  fill(both.topK, others.topK);
  fill(both.topP, others.topP);
  fill(both.minP, others.minP);
  fill(both.repetitionPenalty, others.repetitionPenalty);
  fill(both.tokens, others.tokens);
  fill(both.stops, others.stops);
  return both;
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// Fields that have no effect on the text of a prompt, or are read elsewhere.
static bool saysNothing(const std::string &name) {
  static const std::set<std::string> names = {
      // Of whoever wrote the file.
      "transformers_version", "_from_model_config", "_commit_hash",
      // Of tokens: EndTokens.h, the tokenizer, the specification.
      "eos_token_id", "bos_token_id", "pad_token_id", "decoder_start_token_id",
      // Of what `generate` returns beside the text.
      "output_attentions", "output_hidden_states", "output_logits",
      "output_scores", "return_dict_in_generate", "return_legacy_cache",
      // Of how fast it writes, and in how much memory.
      "assistant_confidence_threshold", "assistant_early_exit",
      "assistant_ensemble_weight", "assistant_lookbehind", "cache_config",
      "cache_implementation", "compile_config", "continuous_batching_config",
      "disable_compile", "is_assistant", "low_memory",
      "max_matching_ngram_size", "max_cache_len", "num_assistant_tokens",
      "num_assistant_tokens_schedule", "prefill_chunk_size",
      "prompt_lookup_num_tokens", "speculation_type", "target_lookbehind",
      "use_cache", "use_mtp",
      // Of probabilities that Hocket keeps normalized and finite.
      "remove_invalid_values", "renormalize_logits"};
  return names.contains(name);
}

/// Whether a field that Hocket does not have is set to do nothing.
static bool isOff(const std::string &name, const json &value) {
  static const std::map<std::string, json> off = {
      {"diversity_penalty", 0},
      {"early_stopping", false},
      {"encoder_no_repeat_ngram_size", 0},
      {"encoder_repetition_penalty", 1},
      {"epsilon_cutoff", 0},
      {"eta_cutoff", 0},
      {"guidance_scale", 1},
      {"length_penalty", 1},
      {"min_length", 0},
      {"min_new_tokens", 0},
      {"no_repeat_ngram_size", 0},
      {"num_beam_groups", 1},
      {"num_beams", 1},
      {"num_return_sequences", 1},
      {"penalty_alpha", 0},
      {"token_healing", false},
      {"typical_p", 1}};
  if (value.is_null() || (value.is_structured() && value.empty()))
    return true;
  auto found = off.find(name);
  return found != off.end() && value == found->second;
}

namespace {

/// The fields of one file. What was looked for is no longer left.
class ConfigFile {
public:
  static StatusOr<ConfigFile> open(std::string path) {
    constexpr uint64_t mostBytes = uint64_t{16} << 20;
    ConfigFile file;
    file.path = std::move(path);
    HOCKET_ASSIGN_OR_RETURN(file.text, readFile(file.path, mostBytes));
    HOCKET_ASSIGN_OR_RETURN(file.left,
                            parseJsonObject(file.text, file.path, 1));
    return file;
  }

  /// A number from `least`, or above 0 where that is its least, to `most`.
  Status read(const std::string &name, std::optional<double> &value,
              double least, double most, bool isPositive = false) {
    json found = take(name);
    if (found.is_null())
      return okStatus();
    double number = found.is_number() ? found.get<double>() : NAN;
    if (!(number >= least && number <= most) || (isPositive && number == 0))
      return wrong(
          name, isPositive ? formatText("a number above 0, up to %g", most)
                           : formatText("a number from %g to %g", least, most));
    value = number;
    return okStatus();
  }

  Status read(const std::string &name, std::optional<uint64_t> &value,
              uint64_t least) {
    constexpr uint64_t most = uint64_t(1) << 53; // Of whole doubles.
    json found = take(name);
    if (found.is_null())
      return okStatus();
    // As 16 and as 16.0.
    double number = found.is_number() ? found.get<double>() : NAN;
    if (!(number >= double(least) && number <= double(most)) ||
        number != std::floor(number))
      return wrong(name,
                   formatText("a whole number of at least %llu", wide(least)));
    value = uint64_t(number);
    return okStatus();
  }

  Status read(const std::string &name, std::optional<bool> &value) {
    json found = take(name);
    if (found.is_null())
      return okStatus();
    if (!found.is_boolean())
      return wrong(name, "true or false");
    value = found.get<bool>();
    return okStatus();
  }

  /// A text or a list of them, none of them empty.
  Status read(const std::string &name,
              std::optional<std::vector<std::string>> &value) {
    json found = take(name);
    if (found.is_null())
      return okStatus();
    std::vector<std::string> texts;
    for (const json &each : found.is_array() ? found : json::array({found})) {
      if (!each.is_string() || each.get_ref<const std::string &>().empty())
        return wrong(name, "a text or a list of texts, none of them empty");
      texts.push_back(each.get<std::string>());
    }
    value = std::move(texts);
    return okStatus();
  }

  /// Of the fields that nobody has looked for, those that change a text.
  std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (const auto &[name, value] : left.items())
      if (!saysNothing(name) && !isOff(name, value))
        names.push_back(name);
    return names;
  }

private:
  json take(const std::string &name) {
    auto found = left.find(name);
    if (found == left.end())
      return nullptr;
    json value = std::move(*found);
    left.erase(found);
    return value;
  }

  Status wrong(const std::string &name, const std::string &wanted) const {
    std::optional<size_t> offset = findJsonMember(text, name);
    return invalidArgument((offset ? placeInFile(path, text, *offset) : path) +
                           ": expected \"" + name + "\" to be " + wanted +
                           "; correct it, or do without the file's defaults "
                           "(--ignore-generation-config)");
  }

  std::string path, text;
  json left;
};

} // namespace

StatusOr<GenerationConfig>
inference::readGenerationConfig(const std::string &tokenizerPath) {
  constexpr double most = 1e6;
  GenerationConfig config;
  std::string folder = chat::modelFolderOf(tokenizerPath);
  std::string path = folder + "/generation_config.json";
  std::error_code error;
  if (folder.empty() || !std::filesystem::exists(path, error))
    return config;
  config.path = path;
  HOCKET_ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::open(path));
  WritingChoices &choices = config.choices;
  std::optional<bool> samples;
  HOCKET_RETURN_IF_ERROR(
      file.read("temperature", choices.temperature, 0, most));
  HOCKET_RETURN_IF_ERROR(file.read("top_k", choices.topK, 0));
  HOCKET_RETURN_IF_ERROR(
      file.read("top_p", choices.topP, 0, 1, /*isPositive=*/true));
  HOCKET_RETURN_IF_ERROR(file.read("min_p", choices.minP, 0, 1));
  HOCKET_RETURN_IF_ERROR(file.read("repetition_penalty",
                                   choices.repetitionPenalty, 0, most,
                                   /*isPositive=*/true));
  HOCKET_RETURN_IF_ERROR(file.read("max_new_tokens", choices.tokens, 1));
  HOCKET_RETURN_IF_ERROR(file.read("stop_strings", choices.stops));
  HOCKET_RETURN_IF_ERROR(file.read("do_sample", samples));
  if (samples == false)
    choices.temperature = 0;
  config.unused = file.unused();
  return config;
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

std::vector<std::string>
GenerationConfig::notes(const WritingChoices &given) const {
  std::string defaults;
  auto add = [&](const std::string &text) {
    defaults += (defaults.empty() ? "" : ", ") + text;
  };
  auto addNumber = [&](const char *name, const auto &own, bool counts) {
    if (own && counts)
      add(formatText("%s %.9g", name, double(*own)));
  };
  // With the likeliest token alone nothing is cut off.
  bool draws = given.temperature.value_or(1) > 0;
  addNumber("temperature", choices.temperature, !given.temperature);
  addNumber("top_k", choices.topK, !given.topK && draws);
  addNumber("top_p", choices.topP, !given.topP && draws);
  addNumber("min_p", choices.minP, !given.minP && draws);
  addNumber("repetition_penalty", choices.repetitionPenalty,
            !given.repetitionPenalty);
  addNumber("max_new_tokens", choices.tokens, !given.tokens);
  if (choices.stops && !given.stops)
    add("stop_strings");
  std::vector<std::string> lines;
  if (!defaults.empty())
    lines.push_back("defaults of " + path + ": " + defaults);
  if (unused.empty())
    return lines;
  std::string names;
  for (const std::string &name : unused) // As JSON: no control characters.
    names += (names.empty() ? "" : ", ") + json(name).dump();
  lines.push_back(path + " has what Hocket does not use: " + names);
  return lines;
}
