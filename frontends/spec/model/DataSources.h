//===- DataSources.h - The token files that a spec names --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_DATASOURCES_H
#define HOCKET_FRONTENDS_SPEC_MODEL_DATASOURCES_H

#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/ConstraintErrors.h"

#include <string>
#include <vector>

namespace hocket::spec {

using DataSources = google::protobuf::RepeatedPtrField<Data::Source>;

/// The words that `hocket train --data` takes for `sources`: none; a path; or a
/// weight and a path for each, from which the same weights are read.
std::vector<std::string> blendWords(const DataSources &sources);

/// S45, and S10 of the weights.
void checkDataSources(const Data &data, ConstraintErrors &errors);

/// S48: documents that share a sequence can be told apart.
void checkDocuments(const Spec &spec, ConstraintErrors &errors);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_DATASOURCES_H
