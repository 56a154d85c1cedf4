//===- ImportedWeights.h - Weights in another format ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_VALUES_IMPORTEDWEIGHTS_H
#define HOCKET_RUNTIME_TRAIN_VALUES_IMPORTEDWEIGHTS_H

#include "runtime/checkpoint/Checkpoint.h"

#include <memory>
#include <vector>

namespace hocket {

/// Weights that are no checkpoint's, by the program's names. They are read when
/// asked for, from any thread.
struct ImportedWeights {
  std::vector<checkpoint::CheckpointTensor> tensors;
  /// Of the head of a model that tells classes, what was not there and begins
  /// anew, by name.
  std::vector<std::string> fresh = {};
  std::shared_ptr<const void> source; ///< What `tensors` read from.
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_VALUES_IMPORTEDWEIGHTS_H
