//===- Lambada.cpp - The last word of a passage ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/Lambada.h"

#include "base/Format.h"
#include "base/TextLines.h"
#include "base/json/JsonObject.h"
#include "runtime/tokenizer/text/SourceText.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::evaluate;
using inference::ScoreRequest;
using inference::Scores;
using nlohmann::json;

static constexpr std::string_view white = " \t\n\r\f\v";

StatusOr<std::vector<std::string>>
evaluate::readPassages(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(auto file, tokenizer::SourceText::read(path));
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  std::vector<std::string> passages;
  std::string_view rest = file.text;
  for (uint64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = takeLine(rest);
    if (line.find_first_not_of(white) == line.npos)
      continue;
    HOCKET_ASSIGN_OR_RETURN(json object, parseJsonObject(line, path, number));
    if (!object.contains("text") || !object["text"].is_string())
      return invalidArgument(path + formatText(":%llu: no JSON object with a "
                                               "\"text\"",
                                               wide(number)));
    passages.push_back(object["text"].get<std::string>());
  }
  if (passages.empty())
    return invalidArgument(path + ": there is no passage in it");
  return passages;
}

static ScoreRequest requestOf(std::string_view text, LastWord last,
                              const tokenizer::Tokenizer &tokenizer) {
  ScoreRequest request;
  request.asksLikeliest = true;
  if (last == LastWord::Token) {
    tokenizer.encode(text, request.tokens);
    request.first = request.tokens.empty() ? 0 : request.tokens.size() - 1;
    return request;
  }
  text = text.substr(0, text.find_last_not_of(white) + 1);
  size_t word = text.find_last_of(white) + 1;
  std::string_view before = text.substr(0, word);
  before.remove_prefix(
      std::min(before.find_first_not_of(white), before.size()));
  before = before.substr(0, before.find_last_not_of(white) + 1);
  tokenizer.encode(before, request.tokens);
  request.first = request.tokens.size();
  tokenizer.encode(" " + std::string(text.substr(word)), request.tokens,
                   tokenizer::TextPart::Later);
  return request;
}

StatusOr<std::vector<ScoreRequest>>
evaluate::lambadaRequests(const std::vector<std::string> &passages,
                          LastWord last, const tokenizer::Tokenizer &tokenizer,
                          size_t longest, uint64_t &shortened) {
  std::vector<ScoreRequest> requests;
  for (size_t i = 0; i < passages.size(); ++i) {
    ScoreRequest request = requestOf(passages[i], last, tokenizer);
    if (request.first < 1 || request.first >= request.tokens.size())
      return invalidArgument(
          formatText("passage %zu has nothing before its last word", i + 1));
    if (request.tokens.size() > longest) {
      size_t cut = request.tokens.size() - longest;
      if (cut >= request.first)
        return invalidArgument(formatText(
            "passage %zu ends in a word of %zu tokens, the program takes %zu "
            "with one before them",
            i + 1, request.wanted(), longest));
      request.tokens.erase(request.tokens.begin(),
                           request.tokens.begin() + ptrdiff_t(cut));
      request.first -= cut;
      ++shortened;
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

double LambadaFigures::perplexity() const {
  return std::exp(-logProbability / double(passages));
}

LambadaFigures evaluate::judgeLambada(const std::vector<Scores> &answers) {
  LambadaFigures figures;
  for (const Scores &scores : answers) {
    ++figures.passages;
    figures.tokens += scores.likeliest.size();
    figures.right +=
        std::all_of(scores.likeliest.begin(), scores.likeliest.end(),
                    [](bool is) { return is; });
    for (float score : scores.logProbabilities)
      figures.logProbability += double(score);
  }
  return figures;
}
