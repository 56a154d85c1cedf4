//===- ExpertSharding.cpp - How experts' ops are split --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/ExpertSharding.h"

#include "base/AxisKind.h"

#include "dialects/xf/IR/Xf.h"

#include <utility>

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

ExpertAxes::ExpertAxes(MeshOp mesh) {
  if (ArrayAttr list = mesh.getExpertsAttr())
    llvm::append_range(different, list.getAsValueRange<StringAttr>());
  if (ArrayAttr list = mesh.getSharingAttr())
    llvm::append_range(rows, list.getAsValueRange<StringAttr>());
}

bool ExpertAxes::operator()(StringRef axis) const {
  return axisKind(axis) == AxisKind::Expert ||
         llvm::is_contained(different, axis) || splitsEach(axis);
}

bool ExpertAxes::splitsEach(StringRef axis) const {
  return isModelAxis(axis) && !llvm::is_contained(different, axis) &&
         !llvm::is_contained(rows, axis);
}

bool hocket::dist::isGrouped(Operation *op) {
  return isa<xf::GroupedLinearOp, xf::GroupedLinearInputGradientOp,
             xf::GroupedLinearWeightGradientOp>(op);
}

bool hocket::dist::exchangesRows(Operation *op) {
  return isa<xf::ExpertSegmentsOp, xf::ExchangeRowsOp, xf::ReturnRowsOp>(op);
}

bool hocket::dist::movesRows(Operation *op) {
  return isa<xf::DispatchOp, xf::CombineOp, xf::CombineWeightGradientOp>(op);
}

std::optional<Sharding> hocket::dist::splitRows(Sharding rows,
                                                const ExpertAxes &experts) {
  Axes axes = std::exchange(rows.partial, {});
  llvm::erase_if(axes, experts);
  if (axes.empty() || rows.dims.size() != 4)
    return std::nullopt;
  llvm::append_range(rows.dims[2], axes);
  return rows;
}

RowsSharding hocket::dist::chooseRows(Operation *op, const xf::FactorRule &rule,
                                      SmallVector<Proposal, 4> proposals,
                                      const Mesh &mesh,
                                      const ExpertAxes &experts) {
  // 1. What the rows are sums over, and tokens are whole over.
  bool makesRows = isa<xf::DispatchOp>(op);
  unsigned rows = isa<xf::CombineWeightGradientOp>(op) ? 1 : 0;
  Axes sums;
  if (!makesRows)
    sums = proposals[rows].sharding.partial;
  llvm::erase_if(sums,
                 [&](StringRef axis) { return !experts.splitsEach(axis); });
  auto wantsWhole = [&](StringRef axis) {
    return makesRows ? experts.splitsEach(axis)
                     : llvm::is_contained(sums, axis);
  };
  for (Proposal &proposal : proposals)
    for (Axes &axes : proposal.sharding.dims)
      llvm::erase_if(axes, wantsWhole);
  // 2. All else as for any op.
  OpSharding choice = chooseSharding(rule, proposals, mesh);
  RowsSharding result;
  for (const xf::TensorFactors &factors : rule.operands)
    result.operands.push_back(choice.of(factors));
  result.result = choice.of(rule.results[0]);
  result.result.partial = choice.partialOf(rule, rule.results[0]);
  if (!makesRows)
    result.operands[rows].partial = sums;
  llvm::append_range(result.result.partial, sums);
  result.choice = std::move(choice);
  result.rows = rows;
  result.sums = std::move(sums);
  return result;
}
