//===- ExportStrategies.cpp - A program as a strategy problem -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/strategies/ExportStrategies.h"

#include "dialects/xf/IR/Xf.h"
#include "passes/dist/strategies/OpStrategies.h"
#include "passes/dist/strategies/StrategyTimes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;
using planning::StrategyProblem;

namespace {

/// Calls nest no deeper in a program that ends.
constexpr int maxCallDepth = 64;

/// By strategy, how a tensor is split.
using Ways = std::vector<Sharding>;

/// Where a value comes from.
struct Place {
  size_t node = 0;
  size_t result = 0;
};

class Exporter {
public:
  Exporter(ModuleOp module, MeshOp meshOp, const StrategyExport &options)
      : symbols(module), mesh(meshOp),
        times(meshOp, mesh, options.cluster.system) {
    for (Attribute axis : meshOp.getAxes())
      axes.push_back(cast<StringAttr>(axis).getValue());
    for (auto variable : module.getOps<xf::VariableOp>())
      bytesOfParameter[rootOf(variable)] +=
          localBytes(mesh, variable.getWholeType(),
                     Sharding::whole(variable.getWholeType().getRank()));
    problem.usageLimit = options.memory;
  }

  Status visitStep(xf::StepOp step);
  StrategyProblem take();

private:
  xf::VariableOp variableOf(StringRef name) const {
    return symbols.lookup<xf::VariableOp>(name);
  }
  /// The parameter that a gradient, state or copy belongs to, or itself.
  StringRef rootOf(xf::VariableOp variable) const {
    return variable.getOf().value_or(variable.getSymName());
  }

  Status visitFunction(func::FuncOp function, int depth);
  Status visit(Operation *op, int depth);
  Status visitCall(func::CallOp call, int depth);
  Status visitShardable(xf::ShardableOpInterface op);
  /// An op of which nothing is known computes on whole tensors.
  void visitWhole(Operation *op);
  Status visitAccumulate(xf::AccumulateOp op);

  StatusOr<size_t> leafNode(const std::string &name, RankedTensorType type,
                            int64_t bytes);
  StatusOr<size_t> parameterNode(StringRef name);
  size_t addNode(Operation *op, ArrayRef<OpSharding> strategies,
                 const xf::FactorRule &rule);
  /// What it costs to have `value` as each strategy of `node` wants it.
  void join(Value value, size_t node, const Ways &wants);
  /// The same where it is always wanted whole.
  void wantWhole(Value value);

  SymbolTable symbols;
  Mesh mesh;
  StrategyTimes times;
  Axes axes;
  StrategyProblem problem;
  std::vector<std::vector<Ways>> gives; ///< By node and result.
  llvm::DenseMap<Value, Place> places;
  std::map<StringRef, size_t> parameters;
  llvm::DenseMap<StringRef, int64_t> bytesOfParameter;
  int64_t now = 1;
};

RankedTensorType tensorOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// What lives throughout.
constexpr int64_t wholeLife = INT64_MAX;

} // namespace

//===----------------------------------------------------------------------===//
// Nodes and edges
//===----------------------------------------------------------------------===//

size_t Exporter::addNode(Operation *op, ArrayRef<OpSharding> strategies,
                         const xf::FactorRule &rule) {
  planning::StrategyNode &node = problem.nodes.emplace_back();
  node.begin = now++;
  node.end = now;
  node.name = op->getName().getStringRef().str();
  std::vector<Ways> &results = gives.emplace_back(op->getNumResults());
  for (const OpSharding &strategy : strategies) {
    int64_t bytes = 0;
    for (auto [i, factors] : llvm::enumerate(rule.results)) {
      Sharding sharding = strategy.of(factors);
      bytes += localBytes(mesh, tensorOf(op->getResult(i)), sharding);
      sharding.partial = strategy.partialOf(rule, factors);
      results[i].push_back(std::move(sharding));
    }
    node.costs.push_back(times.op(op, rule, strategy));
    node.usages.push_back(bytes);
    node.labels.push_back(results.empty() ? "" : results[0].back().text());
  }
  return problem.nodes.size() - 1;
}

StatusOr<size_t> Exporter::leafNode(const std::string &name,
                                    RankedTensorType type, int64_t bytes) {
  xf::FactorRule rule = tensorRule(type);
  auto strategies = opStrategies(rule, axes, mesh);
  if (strategies.size() > kMostOpStrategies)
    return invalidArgument(name + " can be split in " +
                           std::to_string(strategies.size()) +
                           " ways over these axes; at most " +
                           std::to_string(kMostOpStrategies) + " are exported");
  planning::StrategyNode &node = problem.nodes.emplace_back();
  node.end = wholeLife;
  node.name = name;
  std::vector<Ways> &results = gives.emplace_back(1);
  for (const OpSharding &strategy : strategies) {
    results[0].push_back(strategy.of(rule.results[0]));
    int64_t pieces = 1;
    for (const Axes &split : strategy.factors)
      pieces *= mesh.product(split);
    node.costs.push_back(0);
    node.usages.push_back(bytes / pieces);
    node.labels.push_back(results[0].back().text());
  }
  return problem.nodes.size() - 1;
}

StatusOr<size_t> Exporter::parameterNode(StringRef name) {
  auto known = parameters.find(name);
  if (known != parameters.end())
    return known->second;
  HOCKET_ASSIGN_OR_RETURN(size_t node,
                          leafNode(name.str(), variableOf(name).getWholeType(),
                                   bytesOfParameter.lookup(name)));
  parameters.emplace(name, node);
  return node;
}

void Exporter::join(Value value, size_t node, const Ways &wants) {
  RankedTensorType type = tensorOf(value);
  auto found = places.find(value);
  if (!type || found == places.end())
    return;
  auto [from, result] = found->second;
  problem.nodes[from].end = std::max(problem.nodes[from].end, now);
  planning::StrategyEdge edge{int64_t(from), int64_t(node), {}};
  bool isFree = true;
  for (const Sharding &given : gives[from][result])
    for (const Sharding &wanted : wants) {
      edge.costs.push_back(times.reshard(type, given, wanted));
      isFree &= edge.costs.back() == 0;
    }
  if (!isFree)
    problem.edges.push_back(std::move(edge));
}

void Exporter::wantWhole(Value value) {
  RankedTensorType type = tensorOf(value);
  auto found = places.find(value);
  if (!type || found == places.end())
    return;
  auto [from, result] = found->second;
  planning::StrategyNode &node = problem.nodes[from];
  node.end = std::max(node.end, now);
  for (auto [cost, given] : llvm::zip(node.costs, gives[from][result]))
    cost += times.reshard(type, given, Sharding::whole(type.getRank()));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Status Exporter::visitShardable(xf::ShardableOpInterface shardable) {
  Operation *op = shardable;
  xf::FactorRule rule = shardable.getFactorRule();
  auto strategies = opStrategies(rule, axes, mesh);
  // Pieces are put together as sums, or not at all.
  llvm::erase_if(strategies, [&](const OpSharding &strategy) {
    for (auto [combine, result] : llvm::zip(rule.combines, rule.results))
      if (combine != xf::Combine::Sum &&
          !strategy.partialOf(rule, result).empty())
        return true;
    return false;
  });
  if (strategies.size() > kMostOpStrategies)
    return invalidArgument(
        op->getName().getStringRef().str() + " can be split in " +
        std::to_string(strategies.size()) + " ways over these axes; at most " +
        std::to_string(kMostOpStrategies) + " are exported");
  size_t node = addNode(op, strategies, rule);
  for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands)) {
    Ways wants;
    for (const OpSharding &strategy : strategies)
      if (tensorOf(operand))
        wants.push_back(strategy.of(factors));
    join(operand, node, wants);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    places[result] = {node, i};
  return okStatus();
}

void Exporter::visitWhole(Operation *op) {
  for (Value operand : op->getOperands())
    wantWhole(operand);
  if (op->getNumResults() == 0)
    return;
  xf::FactorRule rule;
  for (Value result : op->getResults())
    rule.results.push_back(tensorOf(result)
                               ? tensorRule(tensorOf(result)).results[0]
                               : xf::TensorFactors());
  planning::StrategyNode &node = problem.nodes.emplace_back();
  node.begin = now++;
  node.end = now;
  node.name = op->getName().getStringRef().str();
  node.costs.push_back(0);
  node.labels.emplace_back("whole");
  std::vector<Ways> &results = gives.emplace_back();
  int64_t bytes = 0;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    RankedTensorType type = tensorOf(result);
    Sharding whole = Sharding::whole(type ? type.getRank() : 0);
    bytes += type ? localBytes(mesh, type, whole) : 0;
    results.push_back({whole});
    places[result] = {problem.nodes.size() - 1, i};
  }
  node.usages.push_back(bytes);
}

Status Exporter::visitAccumulate(xf::AccumulateOp op) {
  xf::VariableOp variable = variableOf(op.getVariable());
  if (variable.getKind() != xf::VariableKind::Gradient) {
    wantWhole(op.getValue());
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(size_t node, parameterNode(rootOf(variable)));
  join(op.getValue(), node, gives[node][0]);
  return okStatus();
}

Status Exporter::visitCall(func::CallOp call, int depth) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  auto pass = [&](ValueRange from, ValueRange to) {
    for (auto [given, taken] : llvm::zip(from, to)) {
      auto found = places.find(given);
      if (found != places.end())
        places[taken] = Place(found->second);
      else
        places.erase(taken);
    }
  };
  pass(call.getOperands(), callee.getArguments());
  HOCKET_RETURN_IF_ERROR(visitFunction(callee, depth + 1));
  pass(callee.front().getTerminator()->getOperands(), call.getResults());
  return okStatus();
}

Status Exporter::visit(Operation *op, int depth) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return visitCall(call, depth);
  if (isa<func::ReturnOp>(op))
    return okStatus();
  if (auto read = dyn_cast<xf::ReadOp>(op)) {
    HOCKET_ASSIGN_OR_RETURN(
        size_t node, parameterNode(rootOf(variableOf(read.getVariable()))));
    places[read.getResult()] = {node, 0};
    return okStatus();
  }
  if (auto accumulate = dyn_cast<xf::AccumulateOp>(op))
    return visitAccumulate(accumulate);
  if (auto shardable = dyn_cast<xf::ShardableOpInterface>(op))
    return visitShardable(shardable);
  visitWhole(op);
  return okStatus();
}

Status Exporter::visitFunction(func::FuncOp function, int depth) {
  if (depth > maxCallDepth)
    return invalidArgument("calls nest deeper than " +
                           std::to_string(maxCallDepth) + " functions");
  for (Operation &op : function.front())
    HOCKET_RETURN_IF_ERROR(visit(&op, depth));
  return okStatus();
}

Status Exporter::visitStep(xf::StepOp step) {
  auto forward = symbols.lookup<func::FuncOp>(step.getForward());
  auto backward = symbols.lookup<func::FuncOp>(step.getBackward());
  for (auto [i, argument] : llvm::enumerate(forward.getArguments())) {
    RankedTensorType type = tensorOf(argument);
    if (!type)
      continue;
    HOCKET_ASSIGN_OR_RETURN(
        size_t node,
        leafNode("input " + std::to_string(i), type,
                 localBytes(mesh, type, Sharding::whole(type.getRank()))));
    places[argument] = {node, 0};
  }
  HOCKET_RETURN_IF_ERROR(visitFunction(forward, 0));
  // Backward takes what forward took, then its residuals; the loss comes first.
  Operation *end = forward.front().getTerminator();
  wantWhole(end->getOperand(0));
  for (auto [i, argument] : llvm::enumerate(backward.getArguments())) {
    unsigned inputs = forward.getNumArguments();
    Value from = i < inputs ? Value(forward.getArgument(i))
                            : end->getOperand(i - inputs + 1);
    auto found = places.find(from);
    if (found != places.end())
      places[argument] = Place(found->second);
  }
  return visitFunction(backward, 0);
}

StrategyProblem Exporter::take() {
  for (planning::StrategyNode &node : problem.nodes)
    node.end = std::min(node.end, now);
  return std::move(problem);
}

StatusOr<StrategyProblem>
hocket::dist::exportStrategies(ModuleOp module, const StrategyExport &options) {
  auto steps = module.getOps<xf::StepOp>();
  if (steps.empty())
    return invalidArgument("the program has no step");
  SmallVector<StringRef> names;
  SmallVector<int64_t> sizes;
  for (const auto &[name, size] : options.axes) {
    names.push_back(name);
    sizes.push_back(size);
  }
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto mesh = builder.create<MeshOp>(
      module.getLoc(), builder.getStringAttr("strategies.mesh"),
      builder.getStrArrayAttr(names), builder.getDenseI64ArrayAttr(sizes));
  if (failed(mesh.verify()))
    return invalidArgument("the axes do not make a mesh");
  Exporter exporter(module, mesh, options);
  for (xf::StepOp step : steps)
    HOCKET_RETURN_IF_ERROR(exporter.visitStep(step));
  return exporter.take();
}
