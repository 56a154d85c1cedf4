//===- Frozen.h - What is not trained ---------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_FROZEN_H
#define HOCKET_FRONTENDS_SPEC_MODEL_FROZEN_H

#include "frontends/spec/model/Parameters.h"
#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/ConstraintErrors.h"

#include <functional>
#include <string>
#include <string_view>

namespace hocket::spec {

/// Whether the parameter `name` of `role` is not trained.
bool isFrozen(const Training &training, const std::string &name,
              Parameter::Role role);

/// Whether `name` is what `pattern` says, in which * stands for any text.
bool matchesPattern(std::string_view pattern, std::string_view name);

/// The share of the model's parameters that is trained, adapters included, of a
/// spec that was checked.
double trainedShare(const Spec &spec);
/// The same of the parameters that `isOne` says; 1 of none.
double trainedShare(const Spec &spec,
                    const std::function<bool(const Parameter &)> &isOne);

/// S70 to S72.
void checkFrozen(const Spec &spec, ConstraintErrors &errors);

/// S73 to S75.
void checkLora(const Spec &spec, ConstraintErrors &errors);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_FROZEN_H
