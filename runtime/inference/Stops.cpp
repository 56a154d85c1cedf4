//===- Stops.cpp - Where a text ends --------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/Stops.h"

#include "base/json/JsonDefect.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::inference;

size_t inference::findStop(const std::string &text,
                           const std::vector<std::string> &stops) {
  size_t first = text.npos;
  for (const std::string &stop : stops)
    first = std::min(first, text.find(stop));
  return first;
}

std::string inference::textBehind(const tokenizer::Tokenizer &tokenizer,
                                  int32_t before,
                                  std::span<const int32_t> written) {
  std::vector<int32_t> tokens{before};
  tokens.insert(tokens.end(), written.begin(), written.end());
  std::string prefix = tokenizer.decode({&before, 1});
  std::string text = tokenizer.decode(tokens);
  // Half a character may become a whole one.
  return text.starts_with(prefix) ? text.substr(prefix.size())
                                  : tokenizer.decode(written);
}

static bool isEnd(int32_t token, const Stops &stops) {
  return std::ranges::find(stops.tokens, token) != stops.tokens.end();
}

std::string inference::textBeforeStop(const tokenizer::Tokenizer &tokenizer,
                                      int32_t before,
                                      std::span<const int32_t> written,
                                      const Stops &stops) {
  if (!written.empty() && isEnd(written.back(), stops))
    written = written.first(written.size() - 1);
  std::string text = textBehind(tokenizer, before, written);
  return toValidUtf8(text.substr(0, findStop(text, stops.texts)));
}

std::function<bool(std::span<const int32_t>)>
inference::endsAt(const std::shared_ptr<const tokenizer::Tokenizer> &tokenizer,
                  int32_t before, Stops stops) {
  return [tokenizer, before,
          stops = std::move(stops)](std::span<const int32_t> written) {
    if (isEnd(written.back(), stops))
      return true;
    return !stops.texts.empty() &&
           findStop(textBehind(*tokenizer, before, written), stops.texts) !=
               std::string::npos;
  };
}
