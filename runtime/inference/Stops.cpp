//===- Stops.cpp - Where a text ends --------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/inference/Stops.h"

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

std::function<bool(std::span<const int32_t>)>
inference::endsAt(std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                  std::vector<std::string> stops, bool atEnd) {
  std::optional<int32_t> end;
  if (atEnd)
    end = tokenizer->endOfDocument();
  return [tokenizer, stops = std::move(stops),
          end](std::span<const int32_t> written) {
    if (end && written.back() == *end)
      return true;
    return !stops.empty() &&
           findStop(tokenizer->decode(written), stops) != std::string::npos;
  };
}
