//===- EndTokens.cpp - The tokens at which a model's texts end ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/EndTokens.h"

#include "runtime/chat/ChatTemplate.h"

#include <set>

using namespace hocket;
using namespace hocket::inference;

StatusOr<std::vector<int32_t>>
inference::endTokensOf(const program::Program &program,
                       const tokenizer::Tokenizer &tokenizer,
                       const std::string &tokenizerPath) {
  HOCKET_ASSIGN_OR_RETURN(chat::ModelEnds named,
                          chat::readModelEnds(tokenizerPath));
  std::set<int32_t> ends(named.tokens.begin(), named.tokens.end());
  std::vector<int32_t> text;
  tokenizer.encodeMarkup(named.text, text);
  if (text.size() == 1 && tokenizer.tokenText(text.front()) == named.text)
    ends.insert(text.front());
  if (std::optional<int32_t> end = tokenizer.endOfDocument())
    ends.insert(*end);
  const program::TrainingInfo &training = program.training();
  if (training.has_documents())
    ends.insert(int32_t(training.documents().eod_token()));
  if (training.has_span_corruption())
    ends.insert(int32_t(training.span_corruption().end_token()));
  return std::vector<int32_t>(ends.begin(), ends.end());
}
