//===- TidyBlock.h - After fusion -------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_KERN_TIDYBLOCK_H
#define HOCKET_PASSES_KERN_TIDYBLOCK_H

#include "passes/kern/RegionFusion.h"

namespace hocket::kern {

/// Removes operand `i` of the region and its argument, which has no use.
void dropInput(RegionView region, unsigned i);

/// Erases dead ops of the block; in every fused region drops unused operands
/// and computes equal values once.
void tidyBlock(mlir::Block &block);

} // namespace hocket::kern

#endif // HOCKET_PASSES_KERN_TIDYBLOCK_H
