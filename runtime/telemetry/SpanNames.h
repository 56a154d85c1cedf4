//===- SpanNames.h - What instructions and streams are called ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Names for people, from what the executable says alone: the value that an
/// instruction makes, which is named for its layer and op, the kernel that
/// makes it, and the group that a message goes through.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_SPANNAMES_H
#define HOCKET_RUNTIME_TELEMETRY_SPANNAMES_H

#include "runtime/program/program.pb.h"

#include <string>
#include <vector>

namespace hocket {

/// "layers.3.mlp.up gemm", "layers.3.attention attention_forward",
/// "layers.3.mlp.up.weight.grad gemm", "layers.3.mlp.up all_gather tp",
/// "send pp". A launch is named by its kernel.
std::string spanName(const program::Instruction &instruction,
                     const program::Role &role,
                     const program::Program &program);

/// The same without the layer.
std::string actionName(const program::Instruction &instruction,
                       const program::Program &program);

/// "layers.3.mlp.up": the layer and the op of the value that it makes; empty
/// for what belongs to none, as the optimizer's sums do.
std::string layerPath(const program::Instruction &instruction,
                      const program::Role &role,
                      const program::Program &program);

/// What each stream of a role carries: "compute", "tp", "gradients (dp)",
/// "parameters (dp)", "send (pp)", "receive (pp)"; several with ", " between.
std::vector<std::string> streamNames(const program::Program &program,
                                     const program::Role &role);

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_SPANNAMES_H
