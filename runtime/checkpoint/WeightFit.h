//===- WeightFit.h - Whether weights fit a model ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run that starts from the weights of another takes them by name and global
/// shape, whatever floating-point type they are stored in.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_WEIGHTFIT_H
#define HOCKET_RUNTIME_CHECKPOINT_WEIGHTFIT_H

#include "runtime/checkpoint/Checkpoint.h"

namespace hocket::checkpoint {

/// Ok if `stored` has exactly the weights that are `wanted`, in shape and in a
/// type that converts (toFloats). Else InvalidArgument, with `place` before it,
/// that names the first five that are missing, have another shape or type, or
/// are not part of the model, and says how many more there are.
Status expectWeights(const std::string &place,
                     std::span<const TensorSpec> wanted,
                     std::span<const TensorSpec> stored);

/// Whether the weight `name` is of the head of a model that tells classes,
/// which may begin anew.
bool isOfClassHead(const std::string &name);

/// Fills `out` with the elements of `slice` of `tensor`, converted to `type`.
/// Of the tensor's own slices those are produced that share something with it.
/// InvalidArgument where a number is too large for the type.
Status readConverted(const CheckpointTensor &tensor, const SliceBounds &slice,
                     ElementType type, std::span<uint8_t> out);

/// The same of a tensor that a checkpoint stores as `stored`.
Status readConverted(const Checkpoint &checkpoint, const TensorSpec &stored,
                     const SliceBounds &slice, ElementType type,
                     std::span<uint8_t> out);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_WEIGHTFIT_H
