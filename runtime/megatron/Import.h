//===- Import.h - Weights from Megatron-LM ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The weights of Megatron-LM's checkpoints by Hocket's names
/// (frontends/spec/model/Parameters.h). They are the same numbers but for two
/// things. The query, key and value projections are one tensor there, which
/// has for each key-value head the query heads that use it, then its key, then
/// its value. And the gate of a gated MLP is the first half of linear_fc1.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_IMPORT_H
#define HOCKET_RUNTIME_MEGATRON_IMPORT_H

#include "runtime/checkpoint/hugging_face/HuggingFace.h"
#include "runtime/megatron/Model.h"

#include <vector>

namespace hocket::megatron {

/// The weights of `model` as tensors to save: F32, converted when they are
/// written, a few MiB at a time, rows of a padded vocabulary zero. `model` must
/// outlive the save. InvalidArgument for the first tensor that is missing, has
/// another shape, or is not one of `weights`.
StatusOr<std::vector<checkpoint::CheckpointTensor>>
importModel(const Model &model, const checkpoint::ModelWeights &weights);

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_IMPORT_H
