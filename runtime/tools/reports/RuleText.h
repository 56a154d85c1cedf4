//===- RuleText.h - What a numbered rule means ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Errors quote the rules of docs/spec.md by number. `hocket explain S22` says
/// what a rule asks for (docs/spec.md), what breaks it and what to do then
/// (docs/rules.md, and the cases of test/dialects); these files are part of the
/// program.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_RULETEXT_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_RULETEXT_H

#include "base/Status.h"

#include <string>
#include <vector>

namespace hocket {

struct Rule {
  std::string number;  ///< "S22"
  std::string title;   ///< of its section: "Specifications"
  std::string text;    ///< what must hold
  std::string example; ///< what breaks it; lines, or empty
  std::string advice;  ///< what to do
};

/// Whether `word` looks like the number of a rule: a letter and digits.
bool isRuleNumber(const std::string &word);

/// The numbers of all rules, as docs/spec.md lists them.
std::vector<std::string> ruleNumbers();

/// A rule by its number, in upper or lower case. NotFound names the nearest.
StatusOr<Rule> findRule(const std::string &number);

/// For people, with a line feed at the end.
std::string ruleText(const Rule &rule);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_RULETEXT_H
