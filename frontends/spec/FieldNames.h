//===- FieldNames.h - Names that a misspelt name may stand for --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An unknown name in an input is answered with the names that it most likely
/// stands for. Distance is Levenshtein's, ignoring case.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_FIELDNAMES_H
#define HOCKET_FRONTENDS_SPEC_FIELDNAMES_H

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

namespace hocket::spec {

/// Insertions, deletions and substitutions that turn `a` into `b`, ignoring
/// ASCII case. Only the first 256 bytes of either count.
unsigned editDistance(std::string_view a, std::string_view b);

/// The up to three `candidates` nearest to `name`, nearest first; ties keep
/// their order. Empty where nothing resembles it.
std::vector<std::string>
nearestNames(std::string_view name, const std::vector<std::string> &candidates);

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

/// "a", "a or b", "a, b or c".
std::string joinAlternatives(const std::vector<std::string> &names);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_FIELDNAMES_H
