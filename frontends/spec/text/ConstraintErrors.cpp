//===- ConstraintErrors.cpp - What is wrong with a spec -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/text/ConstraintErrors.h"

#include <charconv>

using namespace hocket;
using namespace hocket::spec;

void ConstraintErrors::add(int constraint, const std::string &path,
                           const std::string &text) {
  lines.push_back(locations.find(path).str() + ": S" +
                  std::to_string(constraint) + ": " + text);
}

void ConstraintErrors::addUnfit(int constraint,
                                std::initializer_list<Unfit> list) {
  for (const Unfit &unfit : list)
    if (unfit.isThere)
      add(constraint, unfit.field, unfit.text);
}

Status ConstraintErrors::status() const {
  if (lines.empty())
    return okStatus();
  std::string text = lines.front();
  for (size_t i = 1; i < lines.size(); ++i)
    text += "\n" + lines[i];
  return invalidArgument(text);
}

std::string hocket::spec::formatReal(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}
