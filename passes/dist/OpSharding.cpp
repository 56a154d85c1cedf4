//===- OpSharding.cpp - How one op is split over the mesh -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/OpSharding.h"

#include "base/AxisKind.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::dist;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;
using xf::FactorKind;
using xf::FactorRule;

bool hocket::dist::isModelAxis(StringRef axis) {
  return axisKind(axis) == AxisKind::Tensor;
}

Sharding OpSharding::of(const xf::TensorFactors &tensor) const {
  Sharding sharding = Sharding::whole(tensor.size());
  for (auto [axes, dim] : llvm::zip(sharding.dims, tensor))
    for (int64_t factor : dim)
      llvm::append_range(axes, factors[factor]);
  return sharding;
}

Axes OpSharding::partialOf(const FactorRule &rule,
                           const xf::TensorFactors &result) const {
  Axes partial;
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    bool has = llvm::any_of(result, [&, i = int64_t(i)](const auto &dim) {
      return llvm::is_contained(dim, i);
    });
    if (!has && factor.kind == FactorKind::Reduced)
      llvm::append_range(partial, factors[i]);
  }
  return partial;
}

namespace {

/// Axes that one operand has on one factor.
struct Claim {
  int64_t factor;
  Axes axes;
  const Proposal *proposal;
  int64_t dim; ///< Of what is proposed.
};

/// Spreads the axes of a proposal's dim `d` over its factors, the slowest
/// first: a later factor is split only where the earlier ones are split to
/// single elements. Axes that do not fit are left out.
void claimDim(const FactorRule &rule, const Proposal &proposal, size_t d,
              const Mesh &mesh, SmallVectorImpl<Claim> &claims) {
  const xf::DimFactors &dim = (*proposal.factors)[d];
  ArrayRef<StringRef> axes = proposal.sharding.dims[d];
  for (int64_t factor : dim) {
    const xf::Factor &f = rule.factors[factor];
    Claim claim{factor, {}, &proposal, int64_t(d)};
    int64_t left = f.size;
    // A dim of one factor may be split unevenly: it is padded.
    while (!axes.empty() &&
           (dim.size() == 1 || left % mesh.size(axes.front()) == 0)) {
      left /= mesh.size(axes.front());
      claim.axes.push_back(axes.front());
      axes = axes.drop_front();
    }
    if (f.kind != FactorKind::Whole && !claim.axes.empty())
      claims.push_back(std::move(claim));
    if (left > 1)
      return;
  }
}

/// How well a claim may hold an axis; the greatest wins.
int rankOf(const Claim &claim, bool isModel, const FactorRule &rule) {
  if (!isModel)
    return claim.proposal->isWeight ? 0 : 1;
  if (claim.proposal->isWeight)
    return 2;
  return rule.factors[claim.factor].kind == FactorKind::Parallel ? 1 : 0;
}

/// That `claim` holds `axis`, in the words of who reads of it later.
ReasonAttr reasonOf(const Claim &claim, mlir::StringAttr axis, bool isModel) {
  const Proposal &proposal = *claim.proposal;
  ReasonKind kind = proposal.kind;
  if (kind == ReasonKind::Operand && proposal.isWeight)
    kind = isModel ? ReasonKind::WeightFirst : ReasonKind::Weight;
  if (proposal.operand < 0)
    return ReasonAttr::of(kind, axis);
  return ReasonAttr::of(kind, axis, proposal.operand, claim.dim);
}

} // namespace

OpSharding
hocket::dist::chooseSharding(const FactorRule &rule,
                             ArrayRef<Proposal> proposals, const Mesh &mesh,
                             llvm::function_ref<bool(StringRef)> isModel) {
  // 1. What every operand claims.
  SmallVector<Claim> claims;
  for (const Proposal &proposal : proposals)
    for (size_t d = 0, dims = std::min(proposal.sharding.dims.size(),
                                       proposal.factors->size());
         d < dims; ++d)
      claimDim(rule, proposal, d, mesh, claims);
  // 2. Each axis goes to one factor.
  llvm::DenseMap<StringRef, const Claim *> owner;
  for (const Claim &claim : claims)
    for (StringRef axis : claim.axes) {
      const Claim *&best = owner[axis];
      bool model = isModel(axis);
      if (!best || rankOf(claim, model, rule) > rankOf(*best, model, rule))
        best = &claim;
    }
  // 3. Of the claims on a factor the longest that is left holds it.
  OpSharding result;
  result.factors.resize(rule.factors.size());
  for (const Claim &claim : claims) {
    Axes kept;
    for (StringRef axis : claim.axes) {
      if (owner[axis]->factor != claim.factor)
        break;
      kept.push_back(axis);
    }
    if (kept.size() > result.factors[claim.factor].size())
      result.factors[claim.factor] = kept;
  }
  // 4. A dim's later factors need its earlier ones split to the end.
  for (const Proposal &proposal : proposals)
    for (const xf::DimFactors &dim : *proposal.factors)
      for (size_t i = 1; i < dim.size(); ++i)
        if (mesh.product(result.factors[dim[i - 1]]) !=
            rule.factors[dim[i - 1]].size)
          result.factors[dim[i]].clear();
  // 5. What each axis is there for.
  mlir::MLIRContext *context = mesh.symbol().getContext();
  for (const Axes &axes : result.factors) {
    auto &reasons = result.reasons.emplace_back();
    for (StringRef axis : axes)
      reasons.push_back(reasonOf(
          *owner[axis], mlir::StringAttr::get(context, axis), isModel(axis)));
  }
  return result;
}

void hocket::dist::matchShards(const FactorRule &rule, OpSharding &choice) {
  int64_t vocabulary = rule.operands[0].back()[0];
  int64_t shards = rule.results[0].back()[0];
  choice.factors[shards] = choice.factors[vocabulary];
  choice.reasons[shards].clear();
  for (ReasonAttr reason : choice.reasons[vocabulary])
    choice.reasons[shards].push_back(reason.about(ReasonKind::Vocabulary));
}
