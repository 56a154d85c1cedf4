//===- ImportWeights.h - A Hugging Face folder's weights --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_IMPORTWEIGHTS_H
#define HOCKET_COMPILER_TOOLS_IMPORTWEIGHTS_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"
#include "runtime/train/values/ImportedWeights.h"

#include <memory>
#include <string>

namespace hocket {

/// The weights of the Hugging Face folder `dir` by the names of `program`,
/// whose specification says what they are called there. InvalidArgument for the
/// first tensor that the model of that specification has not, or has in another
/// shape, and for a program without one.
StatusOr<std::shared_ptr<const ImportedWeights>>
importWeights(const std::string &dir, const program::Program &program);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_IMPORTWEIGHTS_H
