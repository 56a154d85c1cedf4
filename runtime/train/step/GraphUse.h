//===- GraphUse.h - Whether entries are CUDA graphs -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_GRAPHUSE_H
#define HOCKET_RUNTIME_TRAIN_STEP_GRAPHUSE_H

namespace hocket {

/// Whether a GPU does a step, of training or of writing, as one graph: where
/// it can, surely, or never.
enum class GraphUse { Auto, On, Off };

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_GRAPHUSE_H
