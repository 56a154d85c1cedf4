//===- Overrides.h - `--set PATH=VALUE` -------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Any field of a spec can be overridden from the command line:
///
///   --set model.layers=4
///   --set training.optimizer.adamw.beta2=0.95
///   --set training.precision=BF16
///   --set plan.layers_per_stage=3,4,4,1       all entries of a list
///   --set plan.layers_per_stage[0]=2          one of them
///   --set 'model.dropout={residual: 0.1}'     replaces the whole message
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_TEXT_OVERRIDES_H
#define HOCKET_FRONTENDS_SPEC_TEXT_OVERRIDES_H

#include "base/Status.h"
#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/FieldLocations.h"

#include <string>

namespace hocket::spec {

/// Sets one field of `spec` as `assignment`, "PATH=VALUE", says, and records
/// `--set PATH=VALUE` as its place. Strings need no quotes; enums are named.
/// Errors are InvalidArgument and begin with `--set PATH=VALUE: `.
Status applyOverride(const std::string &assignment, Spec &spec,
                     FieldLocations &locations);

/// The same for an option that stands for a field: sets the field `path` as
/// `value` says, and records `place` ("--mesh dp=2") as its place.
Status setFieldFrom(const std::string &place, const std::string &path,
                    const std::string &value, Spec &spec,
                    FieldLocations &locations);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_TEXT_OVERRIDES_H
