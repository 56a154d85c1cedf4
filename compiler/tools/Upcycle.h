//===- Upcycle.h - Experts made of a dense model ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sparse upcycling (arXiv 2212.05055; Megatron-LM's --moe-use-upcycling):
/// every expert of a layer begins as the layer's MLP, and routers with random
/// numbers. The weights of the experts that a token is sent to add up to one,
/// so the mixture computes at first what the dense model does.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_UPCYCLE_H
#define HOCKET_COMPILER_TOOLS_UPCYCLE_H

#include "frontends/spec/LoadSpec.h"
#include "runtime/checkpoint/Checkpoint.h"

#include <span>
#include <string>
#include <vector>

namespace hocket {

/// The weights of `mixture`, a resolved and checked spec with experts, from the
/// weights of the same model without, which were found at `place`. Routers are
/// drawn by training.seed. InvalidArgument where the mixture would not compute
/// what the dense model does, or has weights that this has none for.
StatusOr<std::vector<checkpoint::CheckpointTensor>>
upcycle(const std::string &place,
        std::span<const checkpoint::CheckpointTensor> dense,
        const spec::LoadedSpec &mixture);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_UPCYCLE_H
