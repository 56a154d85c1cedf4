//===- JointAttention.cpp - Gives all gradients to one kernel -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chooses the kernel that finds all gradients of attention at once
/// (kernels/cuda/HopperJointAttention.cuh) where there is one and it has enough
/// to do.
///
//===----------------------------------------------------------------------===//

#include "kernels/library/JointGradient.h"
#include "passes/kern/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace hocket {
#define GEN_PASS_DEF_KERNJOINTATTENTION
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// A block has a head: fewer would leave multiprocessors of an H100 without
/// work.
constexpr int64_t leastHeads = 128;

bool isJoint(LibraryOp library) {
  ArrayRef<int64_t> integers = library.getIntegers();
  return library.getOp() == "attention_backward" &&
         kernels::isJointGradient(
             {integers.data(), integers.size()},
             {library.getFloats().data(), library.getFloats().size()}) &&
         integers[1] * integers[3] >= leastHeads;
}

struct KernJointAttention
    : hocket::impl::KernJointAttentionBase<KernJointAttention> {
  void runOnOperation() override {
    getOperation().walk([&](LibraryOp library) {
      if (!isJoint(library))
        return;
      library.setOp("attention_backward_joint");
      ++replaced;
    });
  }
};

} // namespace
