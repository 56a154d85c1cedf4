//===- CheckEncoder.cpp - Attention in both directions --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/model/Sizes.h"

#include <string>
#include <utility>
#include <vector>

using namespace hocket::spec;

/// S80: who sees the next token cannot learn to tell it, and who does not is to
/// learn nothing else.
static void checkObjective(const Spec &spec, ConstraintErrors &errors) {
  bool seesAll = spec.model().attention_mask() == Model::BIDIRECTIONAL;
  if (seesAll && !spec.training().has_masked_lm() &&
      !tellsClasses(spec.model()))
    errors.add(80, "model.attention_mask",
               "with attention_mask: BIDIRECTIONAL a token sees the next one, "
               "which is nothing to learn; write training.masked_lm { }, or "
               "attention_mask: CAUSAL");
  if (!seesAll && spec.training().has_masked_lm())
    errors.add(80, "training.masked_lm",
               "masked tokens are learned from both sides; write "
               "model.attention_mask: BIDIRECTIONAL, or leave "
               "training.masked_lm out");
}

using NamedTokens = std::vector<std::pair<std::string, int64_t>>;

/// `rule`: tokens of the message `message` are in the vocabulary, and differ.
static void checkFrame(const Spec &spec, int rule, const std::string &message,
                       const NamedTokens &tokens, ConstraintErrors &errors) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto &[name, token] = tokens[i];
    const std::string field = message + "." + name;
    if (token >= spec.model().vocab_size())
      errors.add(rule, field,
                 field + " is " + std::to_string(token) +
                     "; write a token of the vocabulary, below " +
                     std::to_string(spec.model().vocab_size()));
    for (size_t other = 0; other < i; ++other)
      if (tokens[other].second == token)
        errors.add(rule, field,
                   field + " is " + std::to_string(token) + ", as is " +
                       tokens[other].first + "; write another token");
  }
  if (spec.training().has_sequence_length() &&
      spec.training().sequence_length() < 8)
    errors.add(rule, "training.sequence_length",
               "three tokens of a sample frame its texts, and "
               "training.sequence_length is " +
                   std::to_string(spec.training().sequence_length()) +
                   "; write at least 8");
}

/// S110: what tells classes of sequences, and is trained on them.
static void checkClasses(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  if (!tellsClasses(model)) {
    if (spec.training().has_classification())
      errors.add(110, "training.classification",
                 "training.classification is about the samples of a model that "
                 "tells classes; write model.classes, or leave it out");
    return;
  }
  const std::string name = model.has_choices() ? "choices" : "classes";
  if (model.attention_mask() != Model::BIDIRECTIONAL)
    errors.add(110, "model." + name,
               "the first token sees no other under a causal mask; leave " +
                   name + " out, or write attention_mask: BIDIRECTIONAL");
  if (spec.training().has_masked_lm())
    errors.add(110, "training.masked_lm",
               "with model." + name +
                   " there is no head of tokens to learn masked ones; leave "
                   "training.masked_lm out, or " +
                   name);
  if (model.has_choices() && model.has_classes())
    errors.add(114, "model.choices",
               "a sequence is of a class, or is a choice; leave model.classes "
               "or model.choices out");
}

/// S115: beside adapters nothing is trained, and a head that begins anew would
/// stay as it was drawn.
static void checkAdapters(const Spec &spec, ConstraintErrors &errors) {
  if (tellsClasses(spec.model()) && spec.training().has_lora())
    errors.add(
        115, "training.lora",
        "with training.lora adapters alone are trained, and the head of "
        "model." +
            std::string(spec.model().has_choices() ? "choices" : "classes") +
            " would stay as it was drawn; leave lora out, or freeze "
            "other parameters (training.freeze)");
}

/// S114: sequences that are computed together are whole questions.
static void checkQuestions(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  int64_t sequences = spec.training().micro_batch_size();
  if (!model.has_choices())
    return;
  if (sequences % model.choices() != 0)
    errors.add(114, "training.micro_batch_size",
               "training.micro_batch_size is " + std::to_string(sequences) +
                   " sequences, and a question has " +
                   std::to_string(model.choices()) +
                   " (model.choices); write a multiple of that");
  if (model.has_moe())
    errors.add(114, "model.moe",
               "losses of routers are of single sequences; leave model.moe or "
               "model.choices out");
}

/// S111: parts of a head of tokens, where there is none.
static void checkNoTokenHead(const Model &model, ConstraintErrors &errors) {
  const std::pair<const char *, bool> parts[] = {
      {"head_transform", model.head_transform()},
      {"head_bias", model.head_bias()},
      {"sentence_head", model.sentence_head()},
      {"tied_embeddings", !model.tied_embeddings()},
      {"logit_softcap", model.has_logit_softcap()},
      {"logit_scale", model.logit_scale() != 1}};
  for (auto [name, isThere] : parts)
    if (isThere)
      errors.add(111, std::string("model.") + name,
                 std::string(name) +
                     " is about a head of tokens, and with model." +
                     (model.has_choices() ? "choices" : "classes") +
                     " there is none; leave it out");
}

/// S81.
static void checkMaskedLm(const Spec &spec, ConstraintErrors &errors) {
  const MaskedLm &masked = spec.training().masked_lm();
  checkFrame(spec, 81, "training.masked_lm",
             {{"cls_token", masked.cls_token()},
              {"sep_token", masked.sep_token()},
              {"mask_token", masked.mask_token()},
              {"pad_token", masked.pad_token()}},
             errors);
  if (masked.mask_share() + masked.random_share() > 1)
    errors.add(81, "training.masked_lm.random_share",
               "mask_share and random_share are more than 1 together; write "
               "at most " +
                   formatReal(1 - masked.mask_share()));
}

/// `rule`: no layer has a window, which is of tokens before a token.
static void checkNoWindow(const Model &model, int rule,
                          ConstraintErrors &errors) {
  if (model.has_sliding_window())
    errors.add(rule, "model.sliding_window",
               "a window is of tokens before a token; leave sliding_window "
               "out, or write attention_mask: CAUSAL");
  for (int i = 0; i < model.layer_kinds_size(); ++i)
    if (model.layer_kinds(i).sliding_window() > 0) {
      const std::string field =
          "model.layer_kinds[" + std::to_string(i) + "].sliding_window";
      errors.add(rule, field,
                 "a window is of tokens before a token; leave sliding_window "
                 "out, or write attention_mask: CAUSAL");
    }
}

/// S82: what goes by positions before a token, or by ends of documents.
static void checkBothDirections(const Spec &spec, ConstraintErrors &errors) {
  checkNoWindow(spec.model(), 82, errors);
  if (spec.training().data().has_eod_token())
    errors.add(82, "training.data.eod_token",
               "a sample of masked tokens is of one document; leave eod_token "
               "out");
}

/// S120 and S121.
static void checkPrefixes(const Spec &spec, ConstraintErrors &errors) {
  const Model &model = spec.model();
  const Training &training = spec.training();
  if (model.attention_mask() != Model::PREFIX) {
    if (training.has_prefix_lm())
      errors.add(120, "training.prefix_lm",
                 "tokens see no prefix under another mask; write "
                 "model.attention_mask: PREFIX, or leave prefix_lm out");
    return;
  }
  checkNoWindow(model, 120, errors);
  if (model.has_encoder())
    errors.add(120, "model.attention_mask",
               "what comes before a decoder's tokens is the encoder's; leave "
               "attention_mask out, or leave encoder out");
  if (training.data().has_eod_token())
    errors.add(120, "training.data.eod_token",
               "a sequence has one prefix, and not one of each document; leave "
               "eod_token out");
  const PrefixLm &prefix = training.prefix_lm();
  if (prefix.least_share() > prefix.most_share())
    errors.add(121, "training.prefix_lm.least_share",
               "least_share is " + formatReal(prefix.least_share()) +
                   ", above most_share (" + formatReal(prefix.most_share()) +
                   "); write at most that");
}

/// S83.
static void checkEnds(const Model &model, ConstraintErrors &errors) {
  bool seesAll = model.attention_mask() == Model::BIDIRECTIONAL;
  if (!seesAll && model.token_types() > 0)
    errors.add(83, "model.token_types",
               "samples of next tokens have tokens of one kind; leave "
               "token_types out, or write attention_mask: BIDIRECTIONAL");
  if (seesAll && model.token_types() == 1)
    errors.add(83, "model.token_types",
               "a sample has two texts, whose tokens are of two kinds; write "
               "token_types: 2, or leave it out");
  if (!seesAll && model.sentence_head())
    errors.add(83, "model.sentence_head",
               "the first token sees no other under a causal mask; leave "
               "sentence_head out, or write attention_mask: BIDIRECTIONAL");
  if (model.head_transform() && isGated(model.activation()))
    errors.add(83, "model.head_transform",
               "head_transform has one linear layer, and activation: " +
                   Model::Activation_Name(model.activation()) +
                   " multiplies two; leave head_transform out, or write "
                   "another activation");
}

void hocket::spec::checkEncoder(const Spec &spec, ConstraintErrors &errors) {
  checkObjective(spec, errors);
  checkEnds(spec.model(), errors);
  checkClasses(spec, errors);
  checkQuestions(spec, errors);
  checkPrefixes(spec, errors);
  checkAdapters(spec, errors);
  if (tellsClasses(spec.model()))
    checkNoTokenHead(spec.model(), errors);
  if (spec.training().has_masked_lm())
    checkMaskedLm(spec, errors);
  if (tellsClasses(spec.model())) {
    const Classification &frame = spec.training().classification();
    checkFrame(spec, 112, "training.classification",
               {{"cls_token", frame.cls_token()},
                {"sep_token", frame.sep_token()},
                {"pad_token", frame.pad_token()}},
               errors);
  }
  if (spec.model().attention_mask() == Model::BIDIRECTIONAL)
    checkBothDirections(spec, errors);
}
