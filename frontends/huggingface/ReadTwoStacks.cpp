//===- ReadTwoStacks.cpp - An encoder and a decoder of a config.json ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/huggingface/ConfigReader.h"
#include "frontends/spec/text/FieldNames.h"
#include "frontends/spec/text/SpecText.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace hocket;
using namespace hocket::huggingface;
using spec::Model;

/// Tokens of an encoder's sequence, where nobody says: as T5 was trained.
static constexpr int64_t usualTokens = 512;

/// Tokens of T5's own vocabulary. Published models have more rows, which no
/// token uses; the sentinels are the last tokens.
static constexpr int64_t usualVocabulary = 32100;

Status ConfigReader::readSpanTokens() {
  const std::string within = "training.span_corruption.";
  spec::Training &training = *loaded.spec.mutable_training();
  spec::SpanCorruption &spans = *training.mutable_span_corruption();
  for (auto [key, field] :
       {std::pair{"pad_token_id", "pad_token"}, {"eos_token_id", "end_token"}})
    if (config.find(key))
      HOCKET_RETURN_IF_ERROR(assign(key, within + field));
  int64_t vocabulary = loaded.spec.model().vocab_size();
  if (vocabulary > 0)
    spans.set_first_sentinel(std::min(vocabulary, usualVocabulary) - 1);
  training.set_encoder_sequence_length(usualTokens);
  if (config.find("n_positions"))
    HOCKET_RETURN_IF_ERROR(
        assign("n_positions", "training.encoder_sequence_length"));
  const std::string start = "decoder_start_token_id";
  const ConfigValue *found = config.find(start);
  if (found && !found->isNumber(spans.pad_token()))
    return error(5, start,
                 start + " is " + describe(*found) +
                     "; a decoder begins with pad_token_id (" +
                     std::to_string(spans.pad_token()) + ")");
  return okStatus();
}

/// T5 1.0 has one table for the embedding and the head and scales the states
/// before the head; 1.1 has two tables and no scale. transformers tells them
/// apart by `tie_word_embeddings`; from version 5 on it writes `true` there of
/// both, and `scale_decoder_outputs` beside it.
Status ConfigReader::readSharedHead() {
  Model &model = *loaded.spec.mutable_model();
  const char *keys[] = {"tie_word_embeddings", "scale_decoder_outputs"};
  HOCKET_ASSIGN_OR_RETURN(bool tied, flag(keys[0], true));
  HOCKET_ASSIGN_OR_RETURN(bool scaled, flag(keys[1], tied));
  if (scaled && !tied)
    return error(5, keys[1],
                 std::string(keys[1]) + " is true and " + keys[0] +
                     " false; supported are both true, or both false");
  model.set_tied_embeddings(scaled);
  if (scaled && model.hidden() > 0)
    model.set_logit_scale(std::pow(static_cast<double>(model.hidden()), -0.5));
  const char *said = config.find(keys[1]) ? keys[1] : keys[0];
  for (const char *field : {"model.tied_embeddings", "model.logit_scale"})
    loaded.locations.set(field, config.place(said));
  return okStatus();
}

Status ConfigReader::refuseOtherStacks() const {
  HOCKET_RETURN_IF_ERROR(refuseDecoder());
  const std::string both = "is_encoder_decoder", key = "architectures";
  HOCKET_ASSIGN_OR_RETURN(bool hasBoth, flag(both, true));
  if (!hasBoth)
    return error(5, both, both + " is false; only true is supported");
  HOCKET_ASSIGN_OR_RETURN(StringList names, architectures());
  for (const std::string &name : names)
    if (name != family.architecture &&
        name != "T5WithLMHeadModel") // its old one
      return error(5, key,
                   key + " has \"" + spec::elide(name) + "\"; supported is " +
                       family.architecture);
  return okStatus();
}

/// transformers says again what feed_forward_proj does, and goes by that.
Status ConfigReader::refuseOtherActivation() const {
  const ConfigValue *said = config.find(family.activationKey);
  const auto *name = said ? std::get_if<std::string>(&said->value) : nullptr;
  if (!name)
    return okStatus();
  constexpr std::string_view prefix = "gated-";
  bool gated = name->starts_with(prefix);
  std::string function = gated ? name->substr(prefix.size()) : *name;
  if (gated && function == "gelu")
    function = "gelu_new";
  for (const auto &[key, wanted] :
       {std::pair<std::string, std::string>{"dense_act_fn", function},
        {"is_gated_act", gated ? "true" : "false"}}) {
    const ConfigValue *again = config.find(key);
    if (!again)
      continue;
    const auto *word = std::get_if<std::string>(&again->value);
    std::string text = word ? *word : describe(*again);
    if (text != wanted)
      return error(5, key,
                   key + " is " + describe(*again) + ", but " +
                       family.activationKey + " is " + describe(*said) +
                       "; write " + wanted);
  }
  return okStatus();
}

Status ConfigReader::readTwoStacks() {
  if (!family.has(Trait::TwoStacks))
    return okStatus();
  HOCKET_RETURN_IF_ERROR(refuseOtherStacks());
  HOCKET_RETURN_IF_ERROR(refuseOtherActivation());
  Model &model = *loaded.spec.mutable_model();
  if (!model.has_layers() && model.encoder().has_layers()) {
    model.set_layers(model.encoder().layers());
    loaded.locations.set("model.layers", config.place("num_layers"));
  }
  model.set_tied_embeddings(false);
  if (family.has(Trait::ScaledHead))
    HOCKET_RETURN_IF_ERROR(readSharedHead());
  return readSpanTokens();
}
