//===- ModelWeights.h - What a checkpoint of a spec holds -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_MODELWEIGHTS_H
#define HOCKET_COMPILER_TOOLS_MODELWEIGHTS_H

#include "frontends/spec/spec.pb.h"
#include "runtime/checkpoint/HuggingFace.h"

#include <string>
#include <vector>

namespace hocket {

/// The parameters of a resolved and checked `spec`
/// (frontends/spec/Parameters.h) as the weights that a checkpoint stores.
checkpoint::ModelWeights weightsOf(const spec::Spec &spec);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_MODELWEIGHTS_H
