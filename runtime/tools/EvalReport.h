//===- EvalReport.h - What `hocket eval` prints -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_EVALREPORT_H
#define HOCKET_RUNTIME_TOOLS_EVALREPORT_H

#include "runtime/evaluate/Choice.h"
#include "runtime/evaluate/Lambada.h"
#include "runtime/evaluate/Perplexity.h"
#include "runtime/telemetry/ClassAccuracy.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

struct PerplexityReport {
  std::string file, tokenizer;
  evaluate::Likelihood sum;
  uint64_t words = 0;
  bool wikiText = false;
  size_t window = 0, stride = 0;
};

struct LossReport {
  std::string data, split;
  evaluate::Likelihood sum;
  uint64_t samples = 0;
  /// Of masked tokens: how many are likelier than any other token there.
  std::optional<uint64_t> right = std::nullopt;
  std::optional<ClassAccuracy> classes = {}; ///< Where the model tells them.
  /// Where each is asked for: what was asked, and the answers.
  std::vector<evaluate::ScoreRequest> requests = {};
  std::vector<evaluate::Scores> answers = {};
};

struct ChoiceReport {
  std::string file, tokenizer;
  evaluate::ChoiceFigures figures;
  uint64_t shortened = 0;
};

struct LambadaReport {
  std::string file, tokenizer;
  evaluate::LambadaFigures figures;
  bool strict = false;
  uint64_t shortened = 0;
};

/// For people: lines of names and values.
std::string textOf(const PerplexityReport &report);
std::string textOf(const LossReport &report);
std::string textOf(const ChoiceReport &report);
std::string textOf(const LambadaReport &report);

/// For programs: one object.
nlohmann::ordered_json jsonOf(const PerplexityReport &report);
nlohmann::ordered_json jsonOf(const LossReport &report);
nlohmann::ordered_json jsonOf(const ChoiceReport &report);
nlohmann::ordered_json jsonOf(const LambadaReport &report);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_EVALREPORT_H
