//===- Check.cpp - The constraints of a spec ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"

using namespace hocket;
using namespace hocket::spec;

Status spec::checkSpec(const Spec &spec, const FieldLocations &locations) {
  ConstraintErrors errors(locations);
  checkRanges(spec, errors);
  if (errors.empty())
    checkVision(spec, errors);
  if (errors.empty())
    checkRetrieval(spec, errors);
  if (errors.empty())
    checkLatentAttention(spec, errors);
  if (!errors.empty())
    return errors.status();
  checkModel(spec.model(), errors);
  checkTraining(spec, errors);
  checkEncoder(spec, errors);
  checkSpans(spec, errors);
  checkPlan(spec, errors);
  return errors.status();
}
