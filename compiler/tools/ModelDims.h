//===- ModelDims.h - What a checkpoint needs of a spec ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_MODELDIMS_H
#define HOCKET_COMPILER_TOOLS_MODELDIMS_H

#include "frontends/spec/spec.pb.h"
#include "runtime/checkpoint/HuggingFace.h"

namespace hocket {

/// The dims of a resolved and checked `model`: checkpoint::weightsOf(result)
/// are the parameters that frontends/spec/Parameters.h lists.
checkpoint::ModelDims dimsOf(const spec::Model &model);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_MODELDIMS_H
