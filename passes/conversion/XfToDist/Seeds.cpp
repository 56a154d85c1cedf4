//===- Seeds.cpp - Where what persists lives ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/XfToDist/Seeds.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

namespace {
/// What `tp` splits of the variables whose names end so.
struct TensorRule {
  StringLiteral suffix;
  int64_t dim;
  bool keyHeads = false; ///< of key and value heads
};
} // namespace

static constexpr TensorRule tensorRules[] = {{"attention.q.weight", 0},
                                             {"attention.q.bias", 0},
                                             {"attention.k.weight", 0, true},
                                             {"attention.k.bias", 0, true},
                                             {"attention.v.weight", 0, true},
                                             {"attention.v.bias", 0, true},
                                             {"attention.o.weight", 1},
                                             {"mlp.gate.weight", 0},
                                             {"mlp.gate.bias", 0},
                                             {"mlp.up.weight", 0},
                                             {"mlp.up.bias", 0},
                                             {"mlp.down.weight", 1},
                                             {"mlp.shared.gate.weight", 0},
                                             {"mlp.shared.up.weight", 0},
                                             {"mlp.shared.down.weight", 1},
                                             {"mlp.experts.gate.weight", 1},
                                             {"mlp.experts.up.weight", 1},
                                             {"mlp.experts.down.weight", 2},
                                             {"embedding.weight", 0},
                                             {"head.weight", 0}};

static const TensorRule *ruleOf(StringRef name) {
  for (const TensorRule &rule : tensorRules)
    if (name == rule.suffix ||
        (name.ends_with(rule.suffix) &&
         name.drop_back(rule.suffix.size()).ends_with(".")))
      return &rule;
  return nullptr;
}

Axes Seeds::present(ArrayRef<StringRef> names) const {
  Axes axes;
  for (StringRef name : names)
    if (mesh.contains(name) && mesh.size(name) > 1)
      axes.push_back(name);
  return axes;
}

Axes Seeds::experts() const {
  // The sums over `cp` and `tp` of what tokens send are scattered before the
  // rest is exchanged, so that these are coarser.
  Axes axes = plan.context.different;
  llvm::append_range(axes, plan.tensor.different);
  llvm::append_range(axes, present({"ep"}));
  return axes;
}

/// Whether `name` is a matrix of each expert of a layer.
static bool isOfExperts(StringRef name, RankedTensorType type) {
  return name.contains("mlp.experts.") && type.getRank() == 3;
}

Sharding Seeds::weight(StringRef name, RankedTensorType type) const {
  Sharding sharding = Sharding::whole(type.getRank());
  const TensorRule *rule = ruleOf(name);
  bool areExperts = isOfExperts(name, type);
  const TensorPlaces &tensor = plan.tensor;
  if (rule && rule->dim < type.getRank())
    sharding.dims[rule->dim] = areExperts       ? tensor.inside
                               : rule->keyHeads ? tensor.keyHeads
                                                : tensor.weights;
  if (areExperts)
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

Sharding Seeds::variable(xf::VariableOp variable, bool hasWorkingCopy) const {
  auto type = cast<RankedTensorType>(variable.getType());
  StringRef name = variable.getOf() ? *variable.getOf() : variable.getSymName();
  Sharding sharding = weight(name, type);
  int stage = 0; // of ZeRO, from which on it is split
  switch (variable.getKind()) {
  case xf::VariableKind::Parameter:
    stage = hasWorkingCopy ? 1 : 3;
    break;
  case xf::VariableKind::OptimizerState:
    stage = 1;
    break;
  case xf::VariableKind::Working:
    stage = 3;
    break;
  default:
    return sharding;
  }
  if (plan.zeroStage < stage)
    return sharding;
  Axes data = present({"dp", "ep"});
  llvm::append_range(data, plan.context.positions);
  if (isOfExperts(name, type))
    llvm::append_range(data, plan.tensor.rows);
  addDataAxes(sharding, type, std::move(data));
  return sharding;
}

Sharding Seeds::batch() const {
  Sharding sharding = Sharding::whole(2);
  sharding.dims = {present({"dp", "ep"}), plan.context.positions};
  return sharding;
}

Sharding Seeds::stream() const {
  Sharding sharding = Sharding::whole(3);
  sharding.dims[0] = present({"dp", "ep"});
  sharding.dims[1] = plan.context.positions;
  if (plan.sequenceParallel)
    llvm::append_range(sharding.dims[1], plan.tensor.positions);
  return sharding;
}
