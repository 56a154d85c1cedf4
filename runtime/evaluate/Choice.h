//===- Choice.h - Questions with answers to choose from ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EVALUATE_CHOICE_H
#define HOCKET_RUNTIME_EVALUATE_CHOICE_H

#include "runtime/inference/Score.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <string>

namespace hocket::evaluate {

using inference::ScoreRequest;
using inference::Scores;

/// Which of the continuations of a context is the right one.
struct ChoiceItem {
  std::string context;
  std::vector<std::string> choices; ///< At least two; each as it follows.
  size_t label = 0;                 ///< Index of the right one.
  std::string place;                ///< "hellaswag.jsonl:7"
};

/// A request for each choice of each item, in their order. Context and choice
/// are tokenized together, and what is asked about are the tokens behind those
/// of the context alone, as EleutherAI's lm-evaluation-harness cuts them. An
/// empty context is the token that ends a document. Of what is longer than
/// `longest` the beginning is cut off, and `shortened` counts it; a choice that
/// is itself too long, or that makes no token, is InvalidArgument.
StatusOr<std::vector<ScoreRequest>>
choiceRequests(const std::vector<ChoiceItem> &items,
               const tokenizer::Tokenizer &tokenizer, size_t longest,
               uint64_t &shortened);

struct ChoiceFigures {
  uint64_t items = 0;
  uint64_t right = 0;           ///< The likeliest choice is the right one.
  uint64_t rightNormalized = 0; ///< The likeliest by byte of its text.

  double accuracy() const { return double(right) / double(items); }
  double accuracyNormalized() const {
    return double(rightNormalized) / double(items);
  }
};

/// `accuracy` of n trials give or take: its standard error.
double standardError(double accuracy, uint64_t n);

/// `answers` are those of choiceRequests(). Of choices that are as likely the
/// first counts.
ChoiceFigures judgeChoices(const std::vector<ChoiceItem> &items,
                           const std::vector<Scores> &answers);

} // namespace hocket::evaluate

#endif // HOCKET_RUNTIME_EVALUATE_CHOICE_H
