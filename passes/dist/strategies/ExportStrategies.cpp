//===- ExportStrategies.cpp - A program as a strategy problem -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/strategies/ExportStrategies.h"

#include "dialects/xf/IR/Xf.h"
#include "passes/dist/OpNames.h"
#include "passes/dist/OpStrategies.h"
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

/// Where a value comes from: of a node that stands for several calls, which.
struct Place {
  size_t node = 0;
  size_t result = 0;
  size_t life = 0;
};

/// From when to when the results of one call of an op are needed.
struct Life {
  int64_t begin = 0, end = 0;
};

class Exporter {
public:
  Exporter(ModuleOp module, MeshOp meshOp, const StrategyExport &options)
      : symbols(module), opNames(module), parameterNames(module), mesh(meshOp),
        times(meshOp, mesh, options.cluster.system), isPlan(options.isPlan()) {
    for (Attribute axis : meshOp.getAxes())
      axes.push_back(cast<StringAttr>(axis).getValue());
    for (auto variable : module.getOps<xf::VariableOp>())
      bytesOfParameter[keyOf(variable)] +=
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
  /// The name of the node of a parameter and all that belongs to it.
  std::string keyOf(xf::VariableOp variable) const {
    return isPlan ? parameterNames.of(variable) : parameterOf(variable).str();
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
  Status addInput(func::FuncOp forward, unsigned index);
  StatusOr<size_t> parameterNode(xf::VariableOp variable);
  size_t addNode(Operation *op, ArrayRef<OpSharding> strategies,
                 const xf::FactorRule &rule);
  /// Notes that the op of `node` is called once more.
  void callAgain(size_t node, Operation *op, ArrayRef<OpSharding> strategies,
                 const xf::FactorRule &rule);
  void addEdge(planning::StrategyEdge edge);
  /// What it costs to have `value` as each strategy of `node` wants it.
  void join(Value value, size_t node, const Ways &wants);
  /// The same where it is always wanted whole.
  void wantWhole(Value value);

  SymbolTable symbols;
  OpNames opNames;
  ParameterNames parameterNames;
  Mesh mesh;
  StrategyTimes times;
  bool isPlan; ///< One node stands for all calls of an op.
  Axes axes;
  StrategyProblem problem;
  std::vector<std::vector<Ways>> gives; ///< By node and result.
  std::vector<std::vector<Life>> lives; ///< By node and call.
  llvm::DenseMap<Value, Place> places;
  llvm::DenseMap<Operation *, size_t> nodes; ///< Where `isPlan`.
  std::map<std::string, size_t> parameters;
  std::map<std::string, int64_t> bytesOfParameter;
  std::map<std::pair<int64_t, int64_t>, size_t> edges; ///< By their nodes.
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
  node.name = opNames.of(op);
  lives.push_back({{now, now + 1}});
  ++now;
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
    node.labels.push_back(splitText(op, rule, strategy));
  }
  if (isPlan)
    nodes.try_emplace(op, problem.nodes.size() - 1);
  return problem.nodes.size() - 1;
}

void Exporter::callAgain(size_t node, Operation *op,
                         ArrayRef<OpSharding> strategies,
                         const xf::FactorRule &rule) {
  for (auto [cost, strategy] : llvm::zip(problem.nodes[node].costs, strategies))
    cost += times.op(op, rule, strategy);
  lives[node].push_back({now, now + 1});
  ++now;
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
  lives.push_back({{0, wholeLife}});
  node.name = name;
  std::vector<Ways> &results = gives.emplace_back(1);
  for (const OpSharding &strategy : strategies) {
    results[0].push_back(strategy.of(rule.results[0]));
    int64_t shards = 1;
    for (const Axes &split : strategy.factors)
      shards *= mesh.product(split);
    node.costs.push_back(0);
    node.usages.push_back(bytes / shards);
    node.labels.push_back(splitText(results[0].back()));
  }
  return problem.nodes.size() - 1;
}

StatusOr<size_t> Exporter::parameterNode(xf::VariableOp variable) {
  std::string key = keyOf(variable);
  auto known = parameters.find(key);
  if (known != parameters.end())
    return known->second;
  HOCKET_ASSIGN_OR_RETURN(size_t node, leafNode(key, variable.getWholeType(),
                                                bytesOfParameter[key]));
  parameters.emplace(key, node);
  return node;
}

/// Edges that join the same two nodes are one; from one call of a node to the
/// next it has a cost of its own.
void Exporter::addEdge(planning::StrategyEdge edge) {
  if (edge.first == edge.second) {
    std::vector<int64_t> &costs = problem.nodes[size_t(edge.first)].costs;
    for (size_t i = 0; i < costs.size(); ++i)
      costs[i] += edge.costs[i * (costs.size() + 1)];
    return;
  }
  auto [known, isNew] =
      edges.try_emplace({edge.first, edge.second}, problem.edges.size());
  if (isNew)
    return problem.edges.push_back(std::move(edge));
  for (auto [sum, cost] :
       llvm::zip(problem.edges[known->second].costs, edge.costs))
    sum += cost;
}

void Exporter::join(Value value, size_t node, const Ways &wants) {
  RankedTensorType type = tensorOf(value);
  auto found = places.find(value);
  if (!type || found == places.end())
    return;
  auto [from, result, life] = found->second;
  lives[from][life].end = std::max(lives[from][life].end, now);
  planning::StrategyEdge edge{int64_t(from), int64_t(node), {}};
  bool isFree = true;
  for (const Sharding &given : gives[from][result])
    for (const Sharding &wanted : wants) {
      edge.costs.push_back(times.reshard(type, given, wanted));
      isFree &= edge.costs.back() == 0;
    }
  if (!isFree)
    addEdge(std::move(edge));
}

void Exporter::wantWhole(Value value) {
  RankedTensorType type = tensorOf(value);
  auto found = places.find(value);
  if (!type || found == places.end())
    return;
  auto [from, result, life] = found->second;
  planning::StrategyNode &node = problem.nodes[from];
  lives[from][life].end = std::max(lives[from][life].end, now);
  for (auto [cost, given] : llvm::zip(node.costs, gives[from][result]))
    cost += times.reshard(type, given, Sharding::whole(type.getRank()));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Status Exporter::visitShardable(xf::ShardableOpInterface shardable) {
  Operation *op = shardable;
  xf::FactorRule rule = strategyRule(shardable);
  auto strategies = possibleStrategies(rule, axes, mesh);
  if (strategies.size() > kMostOpStrategies)
    return invalidArgument(
        op->getName().getStringRef().str() + " can be split in " +
        std::to_string(strategies.size()) + " ways over these axes; at most " +
        std::to_string(kMostOpStrategies) + " are exported");
  auto known = nodes.find(op);
  size_t node =
      known == nodes.end() ? addNode(op, strategies, rule) : known->second;
  if (known != nodes.end())
    callAgain(node, op, strategies, rule);
  for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands)) {
    Ways wants;
    for (const OpSharding &strategy : strategies)
      if (tensorOf(operand))
        wants.push_back(strategy.of(factors));
    join(operand, node, wants);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    places[result] = {node, i, lives[node].size() - 1};
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
  lives.push_back({{now, now + 1}});
  ++now;
  node.name = op->getName().getStringRef().str();
  node.costs.push_back(0);
  std::vector<Ways> &results = gives.emplace_back();
  int64_t bytes = 0;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    RankedTensorType type = tensorOf(result);
    Sharding whole = Sharding::whole(type ? type.getRank() : 0);
    bytes += type ? localBytes(mesh, type, whole) : 0;
    results.push_back({whole});
    places[result] = {problem.nodes.size() - 1, i, 0};
  }
  node.usages.push_back(bytes);
}

Status Exporter::visitAccumulate(xf::AccumulateOp op) {
  xf::VariableOp variable = variableOf(op.getVariable());
  if (variable.getKind() != xf::VariableKind::Gradient) {
    wantWhole(op.getValue());
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(size_t node, parameterNode(variable));
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
    HOCKET_ASSIGN_OR_RETURN(size_t node,
                            parameterNode(variableOf(read.getVariable())));
    places[read.getResult()] = {node, 0, 0};
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

/// Of a plan they come as the data feed deals them out.
Status Exporter::addInput(func::FuncOp forward, unsigned index) {
  Value argument = forward.getArgument(index);
  RankedTensorType type = tensorOf(argument);
  if (!type)
    return okStatus();
  std::string name = "input " + std::to_string(index);
  int64_t bytes = localBytes(mesh, type, Sharding::whole(type.getRank()));
  if (!isPlan) {
    HOCKET_ASSIGN_OR_RETURN(size_t node, leafNode(name, type, bytes));
    places[argument] = {node, 0, 0};
    return okStatus();
  }
  auto seed = forward.getArgAttrOfType<ShardingAttr>(index, "dist.sharding");
  Sharding given = seed ? Sharding::of(seed) : Sharding::whole(type.getRank());
  planning::StrategyNode &node = problem.nodes.emplace_back();
  node.name = std::move(name);
  node.costs.push_back(0);
  node.usages.push_back(localBytes(mesh, type, given));
  lives.push_back({{0, wholeLife}});
  gives.push_back({{std::move(given)}});
  places[argument] = {problem.nodes.size() - 1, 0, 0};
  return okStatus();
}

Status Exporter::visitStep(xf::StepOp step) {
  auto forward = symbols.lookup<func::FuncOp>(step.getForward());
  auto backward = symbols.lookup<func::FuncOp>(step.getBackward());
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    HOCKET_RETURN_IF_ERROR(addInput(forward, i));
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

/// The most of `lives` at one time.
static int64_t mostAlive(ArrayRef<Life> lives) {
  std::map<int64_t, int64_t> changes;
  for (const Life &life : lives) {
    ++changes[life.begin];
    --changes[life.end];
  }
  int64_t alive = 0, most = 0;
  for (auto [time, change] : changes)
    most = std::max(most, alive += change);
  return most;
}

StrategyProblem Exporter::take() {
  for (auto [node, calls] : llvm::zip(problem.nodes, lives)) {
    node.begin = calls.front().begin;
    for (Life &life : calls)
      node.end = std::max(node.end, life.end = std::min(life.end, now));
    int64_t alive = mostAlive(calls);
    for (int64_t &usage : node.usages)
      usage *= alive;
  }
  return std::move(problem);
}

/// What `axes` asks for, or the mesh of a plan that is in `module`.
static StatusOr<MeshOp> meshOf(ModuleOp module, const StrategyExport &options) {
  if (options.isPlan()) {
    auto meshes = module.getOps<MeshOp>();
    if (meshes.empty())
      return invalidArgument("the program has no mesh");
    return *meshes.begin();
  }
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
  return mesh;
}

StatusOr<StrategyProblem>
hocket::dist::exportStrategies(ModuleOp module, const StrategyExport &options) {
  auto steps = module.getOps<xf::StepOp>();
  if (steps.empty())
    return invalidArgument("the program has no step");
  HOCKET_ASSIGN_OR_RETURN(MeshOp mesh, meshOf(module, options));
  Exporter exporter(module, mesh, options);
  for (xf::StepOp step : steps)
    HOCKET_RETURN_IF_ERROR(exporter.visitStep(step));
  StrategyProblem problem = exporter.take();
  if (options.isPlan())
    problem.mesh = planning::meshText(meshSizes(mesh));
  return problem;
}
