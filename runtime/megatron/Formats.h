//===- Formats.h - The two formats of checkpoints ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What Model.cpp puts together; use Model.h.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_FORMATS_H
#define HOCKET_RUNTIME_MEGATRON_FORMATS_H

#include "runtime/megatron/Model.h"

namespace hocket::megatron {

/// `dir`/mp_rank_TT[_PPP][_EEE]/model_optim_rng.pt, a file for each rank.
StatusOr<Model> openLegacy(const std::string &dir);

/// `dir`/.metadata, common.pt and files of shards.
StatusOr<Model> openDistributed(const std::string &dir);

/// The settings and the iteration in what torch.save wrote for a rank, or for
/// all. InvalidArgument if there are none, or of a version before 3.
Status readSettings(const TorchFile &file, Model &model);

/// Whether the setting is True.
bool flagSetting(const Model &model, const std::string &name);

/// DataLoss, with `place`, unless the shards are all of the tensor and no two
/// overlap.
Status checkShards(const ModelTensor &tensor, const std::string &place);

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_FORMATS_H
