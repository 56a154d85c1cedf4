//===- Quantity.cpp - Numbers with their nouns and units ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Quantity.h"

#include "base/Format.h"

#include <cmath>

using namespace hocket;

std::string hocket::formatNoun(uint64_t count, const std::string &noun,
                               const std::string &plural) {
  if (count == 1)
    return "1 " + noun;
  return formatGrouped(count) + " " + (plural.empty() ? noun + "s" : plural);
}

std::string hocket::formatRate(double perSecond, const std::string &unit) {
  std::string count = formatCount(perSecond);
  size_t letter = count.find_first_of("kMGTPE");
  return letter == std::string::npos
             ? count + " " + unit
             : count.substr(0, letter) + " " + count.substr(letter) + unit;
}

std::string hocket::formatRounded(double value, int digits) {
  if (!std::isfinite(value))
    return "?";
  std::string text = formatText("%.*f", digits, value);
  bool isZero = text.find_first_not_of("-0.") == std::string::npos;
  return isZero && text[0] == '-' ? text.substr(1) : text;
}

std::string hocket::formatSigned(double value, int digits) {
  std::string text = formatRounded(value, digits);
  return text[0] == '-' || text[0] == '?' ? text : "+" + text;
}
