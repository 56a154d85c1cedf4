//===- BatchGrowth.h - Batches that grow ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// training.rampup_batch_size and training.batch_size_steps say from which
/// sample on a step takes how many sequences. Before anything else looks at
/// them the first becomes the second, whose rows end where steps do.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_BATCHGROWTH_H
#define HOCKET_FRONTENDS_SPEC_MODEL_BATCHGROWTH_H

#include "base/BatchSizes.h"
#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/ConstraintErrors.h"

namespace hocket::spec {

/// Whether the batch is not of one size from the first step on.
bool batchGrows(const Training &training);

/// S46, of fields that are in their ranges.
void checkBatchGrowth(const Training &training, ConstraintErrors &errors);

/// The sizes of the batch, in which steps are whole. A training that
/// checkBatchGrowth() finds nothing wrong with, with its global_batch_size.
BatchSizes batchSizesOf(const Training &training);

/// Writes `sizes`, of which the last is global_batch_size, as
/// batch_size_steps, in place of what says it now.
void setBatchSizes(const BatchSizes &sizes, Training &training);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_BATCHGROWTH_H
