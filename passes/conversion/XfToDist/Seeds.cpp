//===- Seeds.cpp - Where what persists lives ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/XfToDist/Seeds.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

/// The dim that the tensor axes split of the matrices and biases of `role`. A
/// bias lacks the dim of its layer's inputs, and is whole then.
static std::optional<int64_t> tensorDim(xf::ParameterRole role) {
  using Role = xf::ParameterRole;
  switch (role) {
  case Role::Embedding:
  case Role::Query:
  case Role::Key:
  case Role::Value:
  case Role::Gate:
  case Role::Up:
  case Role::Head:
  case Role::StateInput:
  case Role::StateGroup:
    return 0;
  case Role::AttentionOutput:
  case Role::Down:
  case Role::ExpertGate:
  case Role::ExpertUp:
  case Role::StateOutput:
  case Role::RelativePositions:
    return 1;
  case Role::ExpertDown:
    return 2;
  case Role::Positions:
  case Role::Norm:
  case Role::Router:
  case Role::LowRank:
  case Role::TokenTypes:
  case Role::HeadTransform:
  case Role::SentenceHead:
  case Role::Patches:
  case Role::Latent:
    return std::nullopt;
  }
}

Axes Seeds::present(ArrayRef<AxisKind> kinds) const {
  Axes axes;
  for (AxisKind kind : kinds)
    for (StringRef name : mesh.parts(kind))
      if (mesh.size(name) > 1)
        axes.push_back(name);
  return axes;
}

Axes Seeds::experts() const {
  // The sums over `cp` and `tp` of what tokens send are scattered before the
  // rest is exchanged, so that these are coarser.
  Axes axes = plan.context.different;
  llvm::append_range(axes, plan.tensor.different);
  llvm::append_range(axes, present({AxisKind::Expert}));
  return axes;
}

/// Whether a variable that belongs to `role` holds a matrix of each expert, as
/// both matrices of their adapters do; the scale of their working copy does
/// not.
static bool isExperts(std::optional<xf::ParameterRole> role,
                      RankedTensorType type) {
  return role &&
         (xf::isOfExperts(*role) || *role == xf::ParameterRole::LowRank) &&
         type.getRank() == 3;
}

const Axes &Seeds::tensorAxes(xf::ParameterRole role) const {
  if (xf::isOfExperts(role))
    return plan.tensor.inside;
  if (role == xf::ParameterRole::StateGroup)
    return plan.tensor.groups;
  bool ofKeyHeads =
      role == xf::ParameterRole::Key || role == xf::ParameterRole::Value;
  return ofKeyHeads ? plan.tensor.keyHeads : plan.tensor.weights;
}

Sharding Seeds::weight(Role role, RankedTensorType type) const {
  Sharding sharding = Sharding::whole(type.getRank());
  if (!role)
    return sharding;
  std::optional<int64_t> dim = tensorDim(*role);
  if (dim && *dim < type.getRank())
    sharding.dims[*dim] = tensorAxes(*role);
  if (isExperts(role, type))
    sharding.dims[0] = experts();
  return sharding;
}

void Seeds::addDataAxes(Sharding &sharding, RankedTensorType type,
                        Axes data) const {
  // What experts are split over already is no data axis of theirs.
  for (const Axes &used : sharding.dims)
    llvm::erase_if(
        data, [&](StringRef axis) { return llvm::is_contained(used, axis); });
  if (data.empty() || type.getRank() == 0)
    return;
  RankedTensorType local = mesh.localType(type, sharding);
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (local.getDimSize(d) % mesh.product(data) == 0) {
      llvm::append_range(sharding.dims[d], data);
      return;
    }
  // Padding stands behind the last element of the whole dim, so only a dim that
  // nothing else splits may be split unevenly.
  int64_t best = -1;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (sharding.dims[d].empty() &&
        (best < 0 || type.getDimSize(d) > type.getDimSize(best)))
      best = d;
  if (best >= 0)
    llvm::append_range(sharding.dims[best], data);
}

Axes Seeds::splitsByRole() const {
  Axes axes = plan.tensor.weights;
  for (StringRef axis : experts())
    if (!llvm::is_contained(axes, axis))
      axes.push_back(axis);
  return axes;
}

void Seed::explain(ReasonKind kind, MLIRContext *context) {
  auto isKnown = [&](StringRef axis) {
    return llvm::any_of(reasons, [&](ReasonAttr reason) {
      return reason.getAxis().getValue() == axis;
    });
  };
  for (const Axes &axes : sharding.dims)
    for (StringRef axis : axes)
      if (!isKnown(axis))
        reasons.push_back(ReasonAttr::of(kind, StringAttr::get(context, axis)));
}

ArrayAttr Seed::reasonsAttr(MLIRContext *context) const {
  SmallVector<Attribute> list(reasons.begin(), reasons.end());
  return ArrayAttr::get(context, {ArrayAttr::get(context, list)});
}

/// Pages and rows as sequences are shared out; heads as those of keys, or as
/// what its role says; rows of images as tokens. A state has its heads before
/// their numbers.
Seed Seeds::cache(Role role, RankedTensorType type) const {
  MLIRContext *context = type.getContext();
  Seed seed{Sharding::whole(type.getRank()), {}};
  seed.sharding.dims[0] = present({AxisKind::Data, AxisKind::Expert});
  seed.explain(ReasonKind::CachePages, context);
  if (role == xf::ParameterRole::Patches) // Whole, as tokens are.
    return seed;
  bool isState = role == xf::ParameterRole::StateInput && type.getRank() == 4;
  seed.sharding.dims[isState ? 1 : 2] =
      role ? tensorAxes(*role) : plan.tensor.keyHeads;
  seed.explain(ReasonKind::CacheHeads, context);
  return seed;
}

Seed Seeds::variable(xf::VariableOp variable, Role role,
                     bool hasWorkingCopy) const {
  auto type = cast<RankedTensorType>(variable.getType());
  MLIRContext *context = variable.getContext();
  Seed seed{weight(role, type), {}};
  seed.explain(ReasonKind::Model, context);
  int stage = 0; // of ZeRO, from which on it is split
  ReasonKind zero = ReasonKind::ZeroWeights;
  switch (variable.getKind()) {
  case xf::VariableKind::Cache:
    return cache(role, type);
  case xf::VariableKind::Parameter:
    stage = hasWorkingCopy ? 1 : 3;
    if (hasWorkingCopy)
      zero = ReasonKind::ZeroCopy;
    break;
  case xf::VariableKind::OptimizerState:
    stage = 1;
    zero = ReasonKind::ZeroState;
    break;
  case xf::VariableKind::Working:
    stage = 3;
    break;
  default:
    return seed;
  }
  if (plan.zeroStage < stage)
    return seed;
  Axes data = present({AxisKind::Data, AxisKind::Expert});
  llvm::append_range(data, plan.context.positions);
  if (isExperts(role, type))
    llvm::append_range(data, plan.tensor.rows);
  addDataAxes(seed.sharding, type, std::move(data));
  seed.explain(zero, context);
  return seed;
}

Sharding Seeds::batch() const {
  Sharding sharding = Sharding::whole(2);
  sharding.dims = {present({AxisKind::Data, AxisKind::Expert}),
                   plan.context.positions};
  return sharding;
}

Sharding Seeds::stream() const {
  Sharding sharding = Sharding::whole(3);
  sharding.dims[0] = present({AxisKind::Data, AxisKind::Expert});
  sharding.dims[1] = plan.context.positions;
  if (plan.sequenceParallel)
    llvm::append_range(sharding.dims[1], plan.tensor.positions);
  return sharding;
}
