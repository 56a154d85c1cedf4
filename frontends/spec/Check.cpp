//===- Check.cpp - The constraints of a spec ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"

using namespace hocket;
using namespace hocket::spec;

void ConstraintErrors::add(int constraint, const std::string &path,
                           const std::string &text) {
  lines.push_back(locations.find(path).str() + ": S" +
                  std::to_string(constraint) + ": " + text);
}

Status ConstraintErrors::status() const {
  if (lines.empty())
    return okStatus();
  std::string text = lines.front();
  for (size_t i = 1; i < lines.size(); ++i)
    text += "\n" + lines[i];
  return invalidArgument(text);
}

Status spec::checkSpec(const Spec &spec, const FieldLocations &locations) {
  ConstraintErrors errors(locations);
  checkRanges(spec, errors);
  if (!errors.empty())
    return errors.status();
  checkModel(spec.model(), errors);
  checkTraining(spec, errors);
  checkEncoder(spec, errors);
  checkPlan(spec, errors);
  return errors.status();
}
