//===- FieldNames.h - Names that a misspelt name may stand for --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an unknown field or value of a specification may have been meant to be;
/// base/NearestNames.h says how near names are found.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_TEXT_FIELDNAMES_H
#define HOCKET_FRONTENDS_SPEC_TEXT_FIELDNAMES_H

#include "base/NearestNames.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

namespace hocket::spec {

using hocket::editDistance;
using hocket::joinAlternatives;
using hocket::nearestNames;

/// The full paths of the spec's fields nearest to `path`. A field whose own
/// name fits counts as near wherever it stands, so "layers" finds
/// "model.layers".
std::vector<std::string> nearestPaths(std::string_view path);

/// The names of the values of `type`, in order.
std::vector<std::string> valueNames(const google::protobuf::EnumDescriptor &);

/// Those of `names` that someone who wrote `value` may have meant: the nearest,
/// or all of a short list, or all where none is near.
std::vector<std::string> suggestValues(std::string_view value,
                                       const std::vector<std::string> &names);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_TEXT_FIELDNAMES_H
