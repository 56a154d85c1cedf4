//===- RuleText.cpp - What a numbered rule means --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/reports/RuleText.h"

#include "base/NearestNames.h"
#include "runtime/tools/reports/RuleFiles.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

using namespace hocket;

//===----------------------------------------------------------------------===//
// Tables of a document
//===----------------------------------------------------------------------===//

namespace {
/// A row "| S22 | ... |", and the heading above its table.
struct Row {
  std::string number, heading;
  std::vector<std::string> cells;
};
} // namespace

static std::string trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(' ');
  size_t last = text.find_last_not_of(' ');
  return first == std::string_view::npos
             ? ""
             : std::string(text.substr(first, last + 1 - first));
}

/// The cells of "| a | b |".
static std::vector<std::string> cellsOf(const std::string &line) {
  std::vector<std::string> cells;
  size_t at = 1;
  for (size_t bar; (bar = line.find(" |", at)) != std::string::npos;
       at = bar + 2)
    cells.push_back(trimmed(std::string_view(line).substr(at, bar - at)));
  return cells;
}

bool hocket::isRuleNumber(const std::string &word) {
  auto isDigit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return word.size() >= 2 && word.size() <= 4 &&
         std::isalpha(static_cast<unsigned char>(word[0])) != 0 &&
         std::all_of(word.begin() + 1, word.end(), isDigit);
}

static std::vector<Row> rowsOf(const char *document) {
  std::vector<Row> rows;
  std::istringstream lines(document);
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## "))
      heading = line.substr(3);
    if (!line.starts_with("| "))
      continue;
    std::vector<std::string> cells = cellsOf(line);
    if (cells.size() < 2 || !isRuleNumber(cells[0]))
      continue;
    Row row{cells[0], heading, {}};
    row.cells.assign(cells.begin() + 1, cells.end());
    rows.push_back(std::move(row));
  }
  return rows;
}

static const Row *rowOf(const std::vector<Row> &rows,
                        const std::string &number) {
  auto row = std::find_if(rows.begin(), rows.end(),
                          [&](const Row &one) { return one.number == number; });
  return row == rows.end() ? nullptr : &*row;
}

/// The paragraph of docs/rules.md that begins with `start`, under "## S".
static std::string paragraphOf(char letter, const std::string &start) {
  std::istringstream lines(adviceDocument);
  std::string text;
  bool isThere = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## "))
      isThere = line == std::string("## ") + letter;
    if (isThere && text.empty() && line.starts_with(start))
      text = line.substr(start.size());
    else if (!text.empty() && line.empty())
      break;
    else if (!text.empty())
      text += " " + line;
  }
  return trimmed(text);
}

//===----------------------------------------------------------------------===//
// Examples
//===----------------------------------------------------------------------===//

/// The first case of test/dialects that breaks a rule, without the marks that
/// are for its test.
static std::string dialectExample(const std::string &number) {
  for (const char *const *file = dialectErrors; *file; ++file) {
    std::string_view rest = *file;
    while (!rest.empty()) {
      constexpr std::string_view separator = "// -----";
      size_t end = std::min(rest.find(separator), rest.size());
      std::string one(rest.substr(0, end));
      rest.remove_prefix(std::min(end + separator.size(), rest.size()));
      if (one.find("{{[" + number + "]") == std::string::npos &&
          one.find("{{" + number + ":") == std::string::npos)
        continue;
      std::istringstream lines(one);
      std::string text;
      for (std::string line; std::getline(lines, line);)
        if (!line.empty() && line.find("//") == std::string::npos)
          text += (text.empty() ? "" : "\n") + line;
      return text;
    }
  }
  return "";
}

/// Without the quotes that Markdown has around code, and without its links.
static std::string plain(std::string text) {
  std::erase(text, '`');
  for (size_t at; (at = text.find("](")) != std::string::npos;) {
    size_t open = text.rfind('[', at), close = text.find(')', at);
    if (open == std::string::npos || close == std::string::npos)
      break;
    text.erase(at, close + 1 - at);
    text.erase(open, 1);
  }
  return text;
}

static std::string exampleOf(const std::string &number, const Row *row) {
  if (!row)
    return dialectExample(number);
  std::string example = row->cells[0];
  bool isOption = example.starts_with("`--");
  std::erase(example, '`');
  return isOption && number[0] == 'S'
             ? "hocket compile examples/nano/spec.textproto " + example +
                   " -o nano.hkx"
             : example;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

std::vector<std::string> hocket::ruleNumbers() {
  std::vector<std::string> numbers;
  for (const Row &row : rowsOf(ruleDocument))
    numbers.push_back(row.number);
  return numbers;
}

StatusOr<Rule> hocket::findRule(const std::string &number) {
  std::string name = number;
  name[0] = char(std::toupper(static_cast<unsigned char>(name[0])));
  std::vector<Row> rules = rowsOf(ruleDocument);
  const Row *found = rowOf(rules, name);
  if (!found)
    return notFound("there is no rule " + name +
                    didYouMean(name, ruleNumbers()) +
                    "; docs/spec.md lists all");
  std::vector<Row> advice = rowsOf(adviceDocument);
  const Row *row = rowOf(advice, name);
  Rule rule;
  rule.number = name;
  rule.title = plain(found->heading);
  rule.text = plain(found->cells[0]);
  rule.example = exampleOf(name, row);
  if (rule.example.empty())
    rule.example = plain(paragraphOf(name[0], "What breaks it: "));
  rule.advice = plain(row && row->cells.size() > 1
                          ? row->cells[1]
                          : paragraphOf(name[0], "What to do: "));
  if (!rule.advice.empty())
    rule.advice[0] =
        char(std::toupper(static_cast<unsigned char>(rule.advice[0])));
  return rule;
}

std::string hocket::ruleText(const Rule &rule) {
  std::string text = rule.number + " (" + rule.title + "): " + rule.text + "\n";
  if (!rule.example.empty()) {
    text += "\nWhat breaks it:\n";
    std::istringstream lines(rule.example);
    for (std::string line; std::getline(lines, line);)
      text += "  " + line + "\n";
  }
  if (!rule.advice.empty())
    text += "\nWhat to do:\n  " + rule.advice + "\n";
  return text;
}
