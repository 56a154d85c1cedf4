//===- EvalReport.cpp - What `hocket eval` prints -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/EvalReport.h"

#include "base/Format.h"
#include "base/Quantity.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace hocket;
using nlohmann::ordered_json;

using Rows = std::vector<std::vector<std::string>>;

static std::string rowsText(const std::string &title, const Rows &rows) {
  return title + "\n" + formatTable({"", "", ""}, rows);
}

static std::vector<std::string> accuracyRow(const char *name, double accuracy,
                                            uint64_t items,
                                            const std::string &what) {
  return {name,
          formatRounded(100 * accuracy, 2) + " % +- " +
              formatRounded(100 * evaluate::standardError(accuracy, items), 2),
          what};
}

static std::vector<std::string> lossRow(const evaluate::Likelihood &sum) {
  return {"  loss", formatRounded(sum.loss(), 4),
          "nats for each of " + formatNoun(sum.tokens, "token")};
}

std::string hocket::textOf(const PerplexityReport &report) {
  Rows rows;
  rows.push_back({"  word perplexity",
                  formatRounded(report.sum.wordPerplexity(report.words), 3),
                  "of " + formatNoun(report.words, "word") +
                      (report.wikiText ? " of WikiText, put together again"
                                       : ", as spaces divide them")});
  rows.push_back(
      {"  token perplexity", formatRounded(report.sum.perplexity(), 3), ""});
  rows.push_back(lossRow(report.sum));
  rows.push_back(
      {"  window", std::to_string(report.window),
       formatText("tokens, the next begins %zu later", report.stride)});
  return rowsText(report.file + ", by " + report.tokenizer, rows);
}

ordered_json hocket::jsonOf(const PerplexityReport &report) {
  return {{"task", "perplexity"},
          {"file", report.file},
          {"tokenizer", report.tokenizer},
          {"wikitext", report.wikiText},
          {"tokens", report.sum.tokens},
          {"words", report.words},
          {"log_probability", report.sum.logProbability},
          {"loss", report.sum.loss()},
          {"perplexity", report.sum.perplexity()},
          {"word_perplexity", report.sum.wordPerplexity(report.words)},
          {"window", report.window},
          {"stride", report.stride}};
}

std::string hocket::textOf(const LossReport &report) {
  Rows rows{lossRow(report.sum)};
  rows.push_back(
      {"  perplexity", formatRounded(report.sum.perplexity(), 3), ""});
  if (report.right)
    rows.push_back(accuracyRow("  masked accuracy",
                               double(*report.right) /
                                   std::max(1.0, double(report.sum.tokens)),
                               report.sum.tokens, "of masked tokens guessed"));
  if (report.classes) {
    const ClassAccuracy &classes = *report.classes;
    rows.push_back(accuracyRow("  accuracy", classes.accuracy(),
                               classes.samples(), "of samples told"));
    for (size_t i = 0; i < classes.names.size(); ++i)
      rows.push_back({"    " + classes.names[i],
                      classes.all[i]
                          ? formatRounded(100 * classes.accuracyOf(i), 2) + " %"
                          : "none",
                      "of " + formatNoun(classes.all[i], "sample")});
  }
  return rowsText(report.data + ", " + formatNoun(report.samples, "sample") +
                      " of split " + report.split,
                  rows);
}

ordered_json hocket::jsonOf(const LossReport &report) {
  ordered_json object = {{"task", "loss"},
                         {"data", report.data},
                         {"split", report.split},
                         {"samples", report.samples},
                         {"tokens", report.sum.tokens},
                         {"log_probability", report.sum.logProbability},
                         {"loss", report.sum.loss()},
                         {"perplexity", report.sum.perplexity()}};
  if (report.right)
    object["masked_accuracy"] =
        double(*report.right) / std::max(1.0, double(report.sum.tokens));
  if (report.classes) {
    object["accuracy"] = report.classes->accuracy();
    object["classes"] = jsonOf(*report.classes);
  }
  for (size_t i = 0; i < report.requests.size(); ++i) {
    ordered_json &each = object["each"].emplace_back();
    each["tokens"] = report.requests[i].tokens;
    const inference::ScoreRequest &request = report.requests[i];
    for (const auto &[name, list] : {std::pair{"labels", &request.labels},
                                     {"token_types", &request.types},
                                     {"encoder_tokens", &request.encoder},
                                     {"image_rows", &request.imageRows}})
      if (!list->empty())
        each[name] = *list;
    if (!request.pixels.empty())
      each["pixels"] = request.pixels;
    each["log_probabilities"] = report.answers[i].logProbabilities;
  }
  return object;
}

std::string hocket::textOf(const ChoiceReport &report) {
  const evaluate::ChoiceFigures &figures = report.figures;
  Rows rows;
  rows.push_back(accuracyRow("  accuracy", figures.accuracy(), figures.items,
                             "the likeliest choice is right"));
  rows.push_back(accuracyRow("  normalized", figures.accuracyNormalized(),
                             figures.items,
                             "the likeliest by byte of its text is"));
  if (report.shortened)
    rows.push_back({"  shortened", formatGrouped(report.shortened),
                    "choices with a context too long, whose beginning was cut "
                    "off"});
  return rowsText(report.file + ", " + formatNoun(figures.items, "question") +
                      ", by " + report.tokenizer,
                  rows);
}

ordered_json hocket::jsonOf(const ChoiceReport &report) {
  const evaluate::ChoiceFigures &figures = report.figures;
  return {
      {"task", "choice"},
      {"file", report.file},
      {"tokenizer", report.tokenizer},
      {"questions", figures.items},
      {"accuracy", figures.accuracy()},
      {"accuracy_error",
       evaluate::standardError(figures.accuracy(), figures.items)},
      {"accuracy_normalized", figures.accuracyNormalized()},
      {"accuracy_normalized_error",
       evaluate::standardError(figures.accuracyNormalized(), figures.items)},
      {"shortened", report.shortened}};
}

std::string hocket::textOf(const LambadaReport &report) {
  const evaluate::LambadaFigures &figures = report.figures;
  Rows rows;
  rows.push_back(accuracyRow("  accuracy", figures.accuracy(), figures.passages,
                             report.strict
                                 ? "every token of the last word is guessed"
                                 : "the last token is guessed"));
  rows.push_back({"  perplexity", formatRounded(figures.perplexity(), 3),
                  report.strict ? "by last word" : "by last token"});
  if (report.shortened)
    rows.push_back({"  shortened", formatGrouped(report.shortened),
                    "passages too long, whose beginning was cut off"});
  return rowsText(report.file + ", " + formatNoun(figures.passages, "passage") +
                      ", by " + report.tokenizer,
                  rows);
}

ordered_json hocket::jsonOf(const LambadaReport &report) {
  const evaluate::LambadaFigures &figures = report.figures;
  return {{"task", "lambada"},
          {"file", report.file},
          {"tokenizer", report.tokenizer},
          {"strict", report.strict},
          {"passages", figures.passages},
          {"accuracy", figures.accuracy()},
          {"accuracy_error",
           evaluate::standardError(figures.accuracy(), figures.passages)},
          {"perplexity", figures.perplexity()},
          {"log_probability", figures.logProbability},
          {"tokens", figures.tokens},
          {"shortened", report.shortened}};
}
