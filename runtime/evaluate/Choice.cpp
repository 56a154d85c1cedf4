//===- Choice.cpp - Questions with answers to choose from -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/Choice.h"

#include "base/Format.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::evaluate;

/// The tokens of both, and where those of `choice` begin.
static ScoreRequest requestOf(std::string_view context, std::string_view choice,
                              const tokenizer::Tokenizer &tokenizer) {
  // A space between them belongs to the word behind it.
  size_t kept = context.find_last_not_of(" \t\n\r") + 1;
  ScoreRequest request;
  std::vector<int32_t> alone;
  tokenizer.encode(context.substr(0, kept), alone);
  std::string whole(context);
  whole += choice;
  tokenizer.encode(whole, request.tokens);
  request.first = alone.size();
  return request;
}

StatusOr<std::vector<ScoreRequest>>
evaluate::choiceRequests(const std::vector<ChoiceItem> &items,
                         const tokenizer::Tokenizer &tokenizer, size_t longest,
                         uint64_t &shortened) {
  std::vector<ScoreRequest> requests;
  for (const ChoiceItem &item : items)
    for (const std::string &choice : item.choices) {
      ScoreRequest request = requestOf(item.context, choice, tokenizer);
      if (request.first == 0) {
        auto end = tokenizer.endOfDocument();
        if (!end)
          return invalidArgument(item.place +
                                 ": nothing stands before the choices, and the "
                                 "tokenizer has no token that ends a document");
        request.tokens.insert(request.tokens.begin(), *end);
        request.first = 1;
      }
      if (request.first >= request.tokens.size())
        return invalidArgument(item.place + ": a choice makes no token");
      if (request.tokens.size() > longest) {
        size_t cut = request.tokens.size() - longest;
        if (cut >= request.first)
          return invalidArgument(formatText(
              "%s: a choice has %zu tokens, the program takes %zu with one "
              "before them: compile it with a longer training.sequence_length",
              item.place.c_str(), request.wanted(), longest));
        request.tokens.erase(request.tokens.begin(),
                             request.tokens.begin() + ptrdiff_t(cut));
        request.first -= cut;
        ++shortened;
      }
      requests.push_back(std::move(request));
    }
  return requests;
}

double evaluate::standardError(double accuracy, uint64_t n) {
  return n > 1 ? std::sqrt(accuracy * (1 - accuracy) / double(n - 1)) : 0;
}

ChoiceFigures evaluate::judgeChoices(const std::vector<ChoiceItem> &items,
                                     const std::vector<Scores> &answers) {
  ChoiceFigures figures;
  auto next = answers.begin();
  for (const ChoiceItem &item : items) {
    std::vector<double> whole, byByte;
    for (const std::string &choice : item.choices) {
      double sum = 0;
      for (float score : next++->logProbabilities)
        sum += double(score);
      whole.push_back(sum);
      byByte.push_back(sum / double(std::max<size_t>(choice.size(), 1)));
    }
    auto isRight = [&](const std::vector<double> &by) {
      return size_t(std::max_element(by.begin(), by.end()) - by.begin()) ==
             item.label;
    };
    ++figures.items;
    figures.right += isRight(whole);
    figures.rightNormalized += isRight(byByte);
  }
  return figures;
}
