//===- RowExchange.h - Rows of experts between devices ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `xf.exchange_rows` speaks of runs; on a mesh with one run a device it is a
/// collective among the devices that share the experts out, and so are the
/// ranges that `xf.expert_segments` takes.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_ROWEXCHANGE_H
#define HOCKET_PASSES_DIST_ROWEXCHANGE_H

#include "dialects/dist/IR/Sharding.h"

namespace hocket::dist {

/// Completes `op`, one of exchangesRows() whose types are those of shards, on
/// devices that differ along `axes`. Returns what takes the place of its
/// result, or null where that stays.
mlir::Value exchangeShard(mlir::Operation *op, const Axes &axes);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_ROWEXCHANGE_H
