//===- PackWeights.cpp - Weights in the form that GEMMs read --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// A program that trains nothing prepares its working copies once and multiplies
// by them for as long as it runs. The packed form of the library (gemm_pack) is
// made then as well: a token reads its panels as they stand, where it would
// have to turn blocks of a plain weight in registers, and longer prompts need
// not pack them call by call.
//
//   prepare: cast %w to %w.working
//   decode:  gemm %x, %w.working
//
//   prepare: cast %w to %w.working; gemm_pack %w.working to %w.packed
//   decode:  gemm %x, %w.packed {b_packed}
//
// The working copy is a temporary then, unless something else reads it too (a
// tied embedding is looked up). Weights of f32 have no copy that could be
// packed, and the packed form of f16 is f32: both stay.
//
//===----------------------------------------------------------------------===//

#include "base/BatchSizes.h"
#include "kernels/library/Library.h"
#include "passes/exec/Instructions.h"
#include "passes/exec/Passes.h"

namespace hocket::exec {
#define GEN_PASS_DEF_EXECPACKWEIGHTS
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

namespace {

/// Packs the weights of one role.
class WeightPacker {
public:
  explicit WeightPacker(RoleOp role) : role(role), builder(role.getContext()) {
    for (auto sequence : role.getOps<SequenceOp>())
      if (sequence.isFragment(FragmentKind::Prepare))
        prepare = sequence;
  }

  int64_t run();

private:
  /// The GEMMs that multiply by all of `weight`; empty where that is not what
  /// they do, or where it has no packed form.
  SmallVector<GemmOp> gemmsOf(BufferOp weight);
  /// The instruction of `prepare` that leaves `weight` as it will be; null if
  /// another sequence writes it.
  Operation *writerOf(BufferOp weight);
  void pack(BufferOp weight, Operation *writer, ArrayRef<GemmOp> gemms);

  RoleOp role;
  SequenceOp prepare;
  OpBuilder builder;
};

} // namespace

SmallVector<GemmOp> WeightPacker::gemmsOf(BufferOp weight) {
  auto type = dyn_cast<MemRefType>(weight.getType());
  if (!weight.getPersistent() ||
      weight.getKind() != MemoryKind::WorkingCopies || !type ||
      !type.getElementType().isBF16() || type.getRank() != 2)
    return {};
  SmallVector<GemmOp> gemms;
  for (OpOperand &use : weight.getResult().getUses()) {
    auto gemm = dyn_cast<GemmOp>(use.getOwner());
    if (!gemm || use.getOperandNumber() != 1 || !gemm.getTransposeB() ||
        gemm.getBPacked() || gemm.getScaleB() ||
        static_cast<int64_t>(gemm.getN()) != type.getDimSize(0) ||
        static_cast<int64_t>(gemm.getK()) != type.getDimSize(1))
      continue;
    gemms.push_back(gemm);
  }
  return gemms;
}

Operation *WeightPacker::writerOf(BufferOp weight) {
  Operation *last = nullptr;
  for (Operation *user : weight.getResult().getUsers()) {
    if (!writes(user, weight))
      continue;
    if (user->getParentOp() != prepare)
      return nullptr;
    last = last && user->isBeforeInBlock(last) ? last : user;
  }
  return last;
}

void WeightPacker::pack(BufferOp weight, Operation *writer,
                        ArrayRef<GemmOp> gemms) {
  auto type = cast<MemRefType>(weight.getType());
  int64_t n = type.getDimSize(0), k = type.getDimSize(1);
  constexpr auto dtype = kernels::DType::BF16;
  builder.setInsertionPointAfter(weight);
  auto packed = builder.create<BufferOp>(
      weight.getLoc(),
      MemRefType::get({kernels::packedBytes(dtype, n, k)}, builder.getI8Type()),
      weight.getName() + ".packed", MemoryKind::WorkingCopies);
  packed.setPersistent(true);
  builder.setInsertionPointAfter(writer);
  builder.create<LibraryOp>(
      weight.getLoc(), builder.getStringAttr("gemm_pack"),
      ValueRange{weight.getResult()}, ValueRange{packed.getResult()},
      builder.getDenseI64ArrayAttr({static_cast<int64_t>(dtype), n, k, 1}),
      builder.getDenseF64ArrayAttr({}), UnitAttr(), UnitAttr(),
      DenseI64ArrayAttr());
  for (GemmOp gemm : gemms) {
    gemm.getBMutable().assign(packed.getResult());
    gemm.setBPacked(true);
  }
  bool isRead =
      llvm::any_of(weight.getResult().getUsers(), [&](Operation *user) {
        return user->getParentOp() != prepare;
      });
  if (!isRead) {
    weight.setPersistent(false);
    weight.setKind(MemoryKind::Activations);
  }
}

int64_t WeightPacker::run() {
  if (!prepare)
    return 0;
  int64_t packed = 0;
  for (auto weight : llvm::make_early_inc_range(role.getOps<BufferOp>())) {
    SmallVector<GemmOp> gemms = gemmsOf(weight);
    Operation *writer = gemms.empty() ? nullptr : writerOf(weight);
    if (!writer)
      continue;
    pack(weight, writer, gemms);
    ++packed;
  }
  return packed;
}

namespace {

struct PackWeights : exec::impl::ExecPackWeightsBase<PackWeights> {
  void runOnOperation() override {
    bool trains = false;
    getOperation().walk(
        [&](EntryOp entry) { trains |= isTrainEntry(entry.getName()); });
    if (trains)
      return;
    for (auto role : getOperation().getOps<RoleOp>())
      packed += WeightPacker(role).run();
  }
};

} // namespace
