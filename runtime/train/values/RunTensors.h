//===- RunTensors.h - What a run keeps, by global tensor --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tensors of a checkpoint that a program's slices are parts of.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_VALUES_RUNTENSORS_H
#define HOCKET_RUNTIME_TRAIN_VALUES_RUNTENSORS_H

#include "runtime/checkpoint/ShardedSave.h"
#include "runtime/program/program.pb.h"
#include "runtime/train/values/RankSlice.h"

#include <string_view>
#include <vector>

namespace hocket {

/// Of what is kept from step to step but is no parameter.
inline constexpr std::string_view statePrefix = "state.";

inline bool isState(const program::Parameter &parameter) {
  return parameter.name().starts_with(statePrefix);
}

/// The global tensor that a slice is part of.
StatusOr<checkpoint::TensorSpec> tensorOf(const program::Program &program,
                                          const program::ParameterSlice &slice);

/// The part of a rank's slice that lies inside the tensor.
inline checkpoint::SliceBounds insideOf(const RankSlice &slice) {
  return {slice.start, slice.inside};
}

/// What all ranks save, which follows from the program alone; by key.
StatusOr<std::vector<checkpoint::SavedTensor>>
savedTensors(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_VALUES_RUNTENSORS_H
