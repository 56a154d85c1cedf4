//===- ModelWeights.h - What a checkpoint of a spec holds -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_MODELWEIGHTS_H
#define HOCKET_COMPILER_TOOLS_MODELWEIGHTS_H

#include "frontends/spec/spec.pb.h"
#include "runtime/checkpoint/hugging_face/HuggingFace.h"

#include <string>
#include <vector>

namespace hocket {

/// The parameters of a resolved and checked `spec`
/// (frontends/spec/model/Parameters.h) as the weights that a checkpoint stores,
/// with the adapters of its training.
checkpoint::ModelWeights weightsOf(const spec::Spec &spec);

/// The overrides of a specification that ask for adapters as these are.
std::vector<std::string> loraOverrides(const checkpoint::LoraDims &lora);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_MODELWEIGHTS_H
