//===- Perplexity.cpp - How well a text is predicted ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/Perplexity.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::evaluate;

std::vector<ScoreRequest>
evaluate::slidingWindows(std::span<const int32_t> tokens, size_t window,
                         size_t stride) {
  std::vector<ScoreRequest> requests;
  for (size_t begin = 0, asked = 1; asked < tokens.size(); begin += stride) {
    // One more than the window: its last token's label.
    size_t end = std::min(begin + window + 1, tokens.size());
    ScoreRequest &request = requests.emplace_back();
    request.tokens.assign(tokens.begin() + ptrdiff_t(begin),
                          tokens.begin() + ptrdiff_t(end));
    request.first = asked - begin;
    asked = end;
  }
  return requests;
}

void Likelihood::add(const Scores &scores) {
  tokens += scores.logProbabilities.size();
  for (float score : scores.logProbabilities)
    logProbability += double(score);
}

double Likelihood::loss() const {
  return tokens ? -logProbability / double(tokens) : std::nan("");
}

double Likelihood::perplexity() const { return std::exp(loss()); }

double Likelihood::wordPerplexity(uint64_t words) const {
  return words > 1 && tokens ? std::exp(-logProbability / double(words - 1))
                             : std::nan("");
}

Likelihood evaluate::sumOf(const std::vector<Scores> &answers) {
  Likelihood sum;
  for (const Scores &scores : answers)
    sum.add(scores);
  return sum;
}
