//===- Reasons.cpp - What propagation decides by --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/Reasons.h"

#include "dialects/dist/IR/Placement.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

//===----------------------------------------------------------------------===//
// On ops
//===----------------------------------------------------------------------===//

static ArrayAttr toAttr(ArrayRef<ReasonAttr> reasons, MLIRContext *context) {
  return ArrayAttr::get(context, {reasons.begin(), reasons.end()});
}

/// Entry `index` of `lists`; null if there is none.
static ArrayAttr listAt(ArrayAttr lists, unsigned index) {
  return lists && index < lists.size() ? dyn_cast<ArrayAttr>(lists[index])
                                       : ArrayAttr();
}

static Reasons reasonsIn(ArrayAttr list) {
  Reasons reasons;
  for (Attribute entry : list)
    if (auto reason = dyn_cast<ReasonAttr>(entry))
      reasons.push_back(reason);
  return reasons;
}

void hocket::dist::setReasons(Operation *op, ArrayRef<Reasons> tensors) {
  SmallVector<Attribute> lists;
  for (const Reasons &reasons : tensors)
    lists.push_back(toAttr(reasons, op->getContext()));
  Placement placement = Placement::of(op);
  placement.reasons = ArrayAttr::get(op->getContext(), lists);
  placement.setOn(op);
}

Reasons hocket::dist::reasonsOf(Operation *op, unsigned index) {
  ArrayAttr list = listAt(Placement::of(op).reasons, index);
  return list ? reasonsIn(list) : Reasons();
}

void hocket::dist::setMoves(Operation *op,
                            ArrayRef<std::optional<Reasons>> operands) {
  Placement placement = Placement::of(op);
  placement.moves = {};
  SmallVector<Attribute> lists;
  for (const std::optional<Reasons> &move : operands)
    lists.push_back(move ? Attribute(toAttr(*move, op->getContext()))
                         : UnitAttr::get(op->getContext()));
  if (llvm::any_of(operands, [](const auto &move) { return bool(move); }))
    placement.moves = ArrayAttr::get(op->getContext(), lists);
  placement.setOn(op);
}

std::optional<Reasons> hocket::dist::moveOf(Operation *op, unsigned index) {
  ArrayAttr list = listAt(Placement::of(op).moves, index);
  return list ? std::optional(reasonsIn(list)) : std::nullopt;
}

ReasonAttr hocket::dist::findReason(ArrayRef<ReasonAttr> reasons,
                                    StringRef axis) {
  for (ReasonAttr reason : reasons)
    if (reason.getAxis() && reason.getAxis().getValue() == axis)
      return reason;
  return {};
}

Reasons hocket::dist::follow(const Axes &axes, int64_t operand, int64_t dim,
                             MLIRContext *context) {
  Reasons reasons;
  for (StringRef axis : axes)
    reasons.push_back(ReasonAttr::of(
        ReasonKind::Operand, StringAttr::get(context, axis), operand, dim));
  return reasons;
}

void hocket::dist::passSums(Reasons &reasons, const Axes &axes, int64_t operand,
                            MLIRContext *context) {
  for (StringRef axis : axes)
    reasons.push_back(ReasonAttr::of(ReasonKind::Linear,
                                     StringAttr::get(context, axis), operand));
}

//===----------------------------------------------------------------------===//
// Of a choice
//===----------------------------------------------------------------------===//

ReasonAttr ChoiceReasons::ofAxis(const xf::DimFactors &dim,
                                 StringRef axis) const {
  for (int64_t factor : dim)
    if (size_t(factor) < choice.reasons.size())
      if (ReasonAttr reason = findReason(choice.reasons[factor], axis))
        return reason;
  return {};
}

ReasonAttr ChoiceReasons::ofSum(const xf::TensorFactors &factors,
                                StringRef axis) const {
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    bool has = llvm::any_of(factors, [&, f = int64_t(f)](const auto &dim) {
      return llvm::is_contained(dim, f);
    });
    ReasonAttr reason = has ? ReasonAttr() : ofAxis({int64_t(f)}, axis);
    if (!reason)
      continue;
    if (reason.getOperand() < 0)
      return reason.about(ReasonKind::OwnPart);
    return ReasonAttr::of(ReasonKind::SummedOver, reason.getAxis(),
                          reason.getOperand(), reason.getDim());
  }
  return {};
}

Reasons ChoiceReasons::ofResult(unsigned index,
                                const Sharding &sharding) const {
  Reasons reasons;
  auto add = [&](ReasonAttr reason) {
    if (reason)
      reasons.push_back(reason);
  };
  const xf::TensorFactors &factors = rule.results[index];
  for (auto [axes, dim] : llvm::zip(sharding.dims, factors))
    for (StringRef axis : axes)
      add(ofAxis(dim, axis));
  for (StringRef axis : sharding.partial)
    add(ofSum(factors, axis));
  return reasons;
}

Reasons ChoiceReasons::ofMove(unsigned index, const Sharding &from,
                              const Sharding &to, MLIRContext *context) const {
  Reasons reasons;
  for (StringRef axis : from.partial)
    if (!llvm::is_contained(to.partial, axis))
      reasons.push_back(
          ReasonAttr::of(ReasonKind::FormSums, StringAttr::get(context, axis)));
  for (auto [d, axes] : llvm::enumerate(from.dims))
    for (StringRef axis : axes)
      if (!llvm::is_contained(to.dims[d], axis))
        reasons.push_back(
            ofLoss(index, int64_t(d), StringAttr::get(context, axis)));
  return reasons;
}

ReasonAttr ChoiceReasons::ofLoss(unsigned index, int64_t dim,
                                 StringAttr axis) const {
  for (auto [f, axes] : llvm::enumerate(choice.factors)) {
    if (!llvm::is_contained(axes, axis.getValue()))
      continue;
    // What gave the factor its axis, or else what has the factor.
    if (ReasonAttr reason = ofAxis({int64_t(f)}, axis.getValue()))
      return reason;
    for (auto [i, operand] : llvm::enumerate(rule.operands))
      for (auto [d, factors] : llvm::enumerate(operand))
        if (llvm::is_contained(factors, int64_t(f)))
          return ReasonAttr::of(ReasonKind::Operand, axis, int64_t(i),
                                int64_t(d));
  }
  return ReasonAttr::of(ReasonKind::NeedsAll, axis, int64_t(index), dim);
}
