//===- RecomputeModel.cpp - What a program could compute again ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/RecomputeModel.h"

#include "dialects/xf/IR/Xf.h"
#include "passes/pipe/BodySplit.h"
#include "passes/planning/ResidualSlots.h"
#include "passes/planning/memory/BufferAlignment.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

int64_t hocket::pipe::arenaBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  int64_t bytes = (tensor.getElementTypeBitWidth() + 7) / 8;
  for (int64_t dim : tensor.getShape())
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return 0; // Too large to be planned: exec-lay-out-arena says so.
  return planning::alignedBufferBytes(bytes);
}

double WorkRates::secondsOf(Operation *op) const {
  if (isFree(op) || isa<func::CallOp>(op))
    return 0;
  if (auto model = dyn_cast<xf::CostOpInterface>(op)) {
    xf::OpCost cost = model.getCost();
    return std::max(cost.flops / flops,
                    (cost.bytesRead + cost.bytesWritten) / bytes);
  }
  double moved = 0;
  for (Type type : op->getResultTypes())
    moved += static_cast<double>(arenaBytes(type));
  for (Type type : op->getOperandTypes())
    moved += static_cast<double>(arenaBytes(type));
  bool isCollective = op->getName().getDialectNamespace() == "dist";
  return moved / (isCollective ? link : bytes);
}

namespace {

/// The innermost name of a location, as one word.
std::string wordOf(Operation *op) {
  std::string word;
  op->getLoc()->walk([&](Location loc) {
    auto named = dyn_cast<NameLoc>(loc);
    if (named)
      word = named.getName().str();
    return named ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (word.empty())
    word = op->getName().getStringRef().str();
  for (char &c : word)
    c = c == ' ' || c == '\t' || c == '#' || c == '\n' || c == '\r' ? '_' : c;
  return word == "rank" ? "rank_" : word;
}

class ModelBuilder {
public:
  ModelBuilder(ModuleOp module, const PipelinePlan &plan,
               const WorkRates &rates)
      : symbols(module), plan(plan), rates(rates) {
    model.pairs = findFragmentPairs(module);
    model.problem.microbatches = plan.shape.microbatches;
    model.problem.ranks.resize(plan.shape.ranks);
    model.places.resize(plan.shape.ranks);
    model.work.resize(plan.shape.ranks);
  }

  LogicalResult run(ModuleOp module);
  RecomputeModel model;

private:
  func::FuncOp calleeOf(func::CallOp call) {
    return symbols.lookup<func::FuncOp>(call.getCallee());
  }
  void addSites(size_t pair);
  void findSources(LayerSite &site);
  double workOf(func::FuncOp function);
  void addResiduals(size_t site, int64_t layer, int64_t live);
  void addInput(size_t site, int64_t layer, int64_t live);
  /// Results of the forward call that only the backward call takes.
  llvm::BitVector candidates(const LayerSite &site);
  void dropWhatWeightsNeed(const LayerSite &site, llvm::BitVector &results);
  /// Ops of the forward half that the backward half runs anyway.
  llvm::DenseSet<Operation *> sharedOps(const LayerSite &site);
  double priceOf(Operation *op, const llvm::DenseSet<Value> &known,
                 const llvm::DenseSet<Operation *> &shared);

  SymbolTable symbols;
  const PipelinePlan &plan;
  const WorkRates &rates;
  llvm::DenseSet<Value> counted; ///< Inputs of layers.
};

} // namespace

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

/// Whether two ops without operands compute the same.
static bool isSameSource(Value a, Value b) {
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  return first && second && first->getNumOperands() == 0 &&
         second->getNumOperands() == 0 &&
         isa<xf::XfDialect>(first->getDialect()) &&
         first->getName() == second->getName() &&
         first->getAttrDictionary() == second->getAttrDictionary();
}

void ModelBuilder::findSources(LayerSite &site) {
  const FragmentPair &pair = model.pairs[site.pair];
  auto sourceOf = [&](Value operand) -> ArgumentSource {
    auto argument = dyn_cast<BlockArgument>(operand);
    Value value = argument ? pair.sourceOf(argument) : Value();
    if (auto result = dyn_cast_or_null<OpResult>(value))
      if (result.getOwner() == site.forward)
        return {ArgumentSource::Result, result.getResultNumber()};
    for (auto [i, given] : llvm::enumerate(site.forward.getOperands()))
      if ((value && given == value) ||
          (!argument && isSameSource(given, operand)))
        return {ArgumentSource::Argument, static_cast<unsigned>(i)};
    return {};
  };
  for (Value operand : site.backward.getOperands())
    site.sources.push_back(sourceOf(operand));
}

/// The last backward call belongs to the first forward call that has one: the
/// first layers have none where nothing below them is trained.
void ModelBuilder::addSites(size_t index) {
  FragmentPair &pair = model.pairs[index];
  auto forward = llvm::to_vector(pair.forward.getOps<func::CallOp>());
  auto backward = llvm::to_vector(pair.backward.getOps<func::CallOp>());
  if (forward.size() < backward.size())
    return;
  forward.erase(forward.begin(), forward.end() - backward.size());
  std::reverse(backward.begin(), backward.end());
  for (auto [ahead, back] : llvm::zip_equal(forward, backward)) {
    LayerSite site{index, ahead, back, calleeOf(ahead), calleeOf(back), {}};
    if (!site.forwardHalf || !site.backwardHalf ||
        site.forwardHalf->getAttr("xf.backward") != back.getCalleeAttr())
      continue;
    findSources(site);
    model.sites.push_back(std::move(site));
  }
}

double ModelBuilder::workOf(func::FuncOp function) {
  double seconds = 0;
  function.walk([&](Operation *op) {
    seconds += rates.secondsOf(op);
    if (auto call = dyn_cast<func::CallOp>(op))
      if (func::FuncOp callee = calleeOf(call))
        seconds += workOf(callee);
  });
  return seconds;
}

//===----------------------------------------------------------------------===//
// Residuals
//===----------------------------------------------------------------------===//

void ModelBuilder::dropWhatWeightsNeed(const LayerSite &site,
                                       llvm::BitVector &results) {
  SmallVector<bool> mayBeLate;
  func::CallOp call = site.backward;
  for (Value result : call.getResults())
    mayBeLate.push_back(isOnlyAccumulated(result));
  BodySplit split = splitBody(site.backwardHalf, mayBeLate, {});
  for (Value value : split.kept)
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      ArgumentSource source = site.sources[argument.getArgNumber()];
      if (source.kind == ArgumentSource::Result)
        results.reset(source.index);
    }
}

llvm::BitVector ModelBuilder::candidates(const LayerSite &site) {
  func::CallOp ahead = site.forward, back = site.backward;
  llvm::BitVector results(ahead.getNumResults());
  for (auto [operand, source] :
       llvm::zip_equal(back.getOperands(), site.sources))
    if (source.kind == ArgumentSource::Result)
      results.set(source.index);
  // What something else takes, or what the forward half was given.
  const FragmentPair &pair = model.pairs[site.pair];
  func::FuncOp taker = pair.backward, half = site.forwardHalf;
  for (BlockArgument argument : taker.getArguments()) {
    auto result = dyn_cast_or_null<OpResult>(pair.sourceOf(argument));
    if (result && result.getOwner() == ahead &&
        llvm::any_of(argument.getUsers(),
                     [&](Operation *user) { return user != back; }))
      results.reset(result.getResultNumber());
  }
  Operation *end = half.front().getTerminator();
  for (unsigned i : llvm::to_vector(results.set_bits()))
    if (!end->getOperand(i).getDefiningOp())
      results.reset(i);
  if (plan.splitsWeights)
    dropWhatWeightsNeed(site, results);
  return results;
}

llvm::DenseSet<Operation *> ModelBuilder::sharedOps(const LayerSite &site) {
  func::FuncOp ahead = site.forwardHalf, back = site.backwardHalf;
  IRMapping mapping;
  Operation *end = ahead.front().getTerminator();
  for (auto [i, source] : llvm::enumerate(site.sources))
    if (source.kind != ArgumentSource::Gradient)
      mapping.map(source.kind == ArgumentSource::Argument
                      ? Value(ahead.getArgument(source.index))
                      : end->getOperand(source.index),
                  back.getArgument(i));
  llvm::DenseSet<Operation *> shared;
  for (Operation &op : ahead.front().without_terminator()) {
    if (op.getNumOperands() == 0)
      continue;
    for (Operation &other : back.front())
      if (other.getName() == op.getName() &&
          llvm::equal(
              llvm::map_range(op.getOperands(),
                              [&](Value v) { return mapping.lookupOrNull(v); }),
              other.getOperands()) &&
          op.getResultTypes() == other.getResultTypes()) {
        shared.insert(&op);
        for (auto [from, to] :
             llvm::zip_equal(op.getResults(), other.getResults()))
          if (!mapping.contains(from))
            mapping.map(from, to);
        break;
      }
  }
  return shared;
}

double ModelBuilder::priceOf(Operation *op, const llvm::DenseSet<Value> &known,
                             const llvm::DenseSet<Operation *> &shared) {
  llvm::SetVector<Operation *> slice;
  slice.insert(op);
  double seconds = 0;
  for (size_t i = 0; i < slice.size(); ++i) {
    seconds += rates.secondsOf(slice[i]);
    for (Value operand : slice[i]->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && !known.contains(operand) && !shared.contains(source))
        slice.insert(source);
  }
  return seconds;
}

/// What full recomputation starts from: activations that the backward call
/// takes, and that this layer did not make.
void ModelBuilder::addInput(size_t index, int64_t layer, int64_t live) {
  LayerSite &site = model.sites[index];
  const FragmentPair &pair = model.pairs[site.pair];
  planning::Residual input{
      "input", pair.chunk, layer, 0, 0, live, planning::ResidualGroup::Input};
  for (Value operand : site.backward.getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand)) {
      Value value = pair.sourceOf(argument);
      if (value && value.getDefiningOp() != site.forward &&
          counted.insert(value).second)
        input.bytes += arenaBytes(value.getType());
    }
  model.problem.ranks[pair.rank].residuals.push_back(input);
  model.places[pair.rank].push_back({index, llvm::BitVector()});
}

void ModelBuilder::addResiduals(size_t index, int64_t layer, int64_t live) {
  const LayerSite &site = model.sites[index];
  const FragmentPair &pair = model.pairs[site.pair];
  func::FuncOp half = site.forwardHalf;
  Operation *end = half.front().getTerminator();
  llvm::BitVector results = candidates(site);
  llvm::DenseSet<Value> known;
  for (const ArgumentSource &source : site.sources)
    if (source.kind == ArgumentSource::Result)
      known.insert(end->getOperand(source.index));
  // Results of one op come back together.
  llvm::MapVector<Operation *, llvm::BitVector> made;
  for (unsigned i : results.set_bits()) {
    llvm::BitVector &own = made[end->getOperand(i).getDefiningOp()];
    own.resize(results.size());
    own.set(i);
  }
  llvm::DenseSet<Operation *> shared = sharedOps(site);
  for (auto &[op, own] : made) {
    planning::Residual residual{wordOf(op),
                                pair.chunk,
                                layer,
                                0,
                                0,
                                live,
                                planning::ResidualGroup::Other};
    for (unsigned i : own.set_bits())
      residual.bytes += arenaBytes(end->getOperand(i).getType());
    residual.seconds = priceOf(op, known, shared);
    model.problem.ranks[pair.rank].residuals.push_back(residual);
    model.places[pair.rank].push_back({index, own});
  }
}

LogicalResult ModelBuilder::run(ModuleOp module) {
  // 1. Copies of what each stage keeps.
  planning::SlotPlan slots;
  if (plan.isCut()) {
    StatusOr<planning::Schedule> schedule =
        chooseSchedule(plan, plan.splitsWeights);
    if (!schedule.ok())
      return module.emitError(schedule.status().message());
    slots = planning::assignSlots(*schedule,
                                  planning::ResidualLife::ForwardToWeight);
  }
  // 2. Layers.
  for (size_t i = 0; i < model.pairs.size(); ++i) {
    const FragmentPair &pair = model.pairs[i];
    if (pair.rank < 0 || pair.rank >= plan.shape.ranks || pair.chunk < 0 ||
        pair.chunk >= plan.shape.chunks)
      return module.emitError("P7: a fragment is of a rank or chunk that the "
                              "plan does not have");
    model.work[pair.rank] += workOf(pair.forward) + workOf(pair.backward);
    size_t first = model.sites.size();
    addSites(i);
    // 3. Their residuals.
    int64_t live =
        plan.isCut() ? std::max<int64_t>(1, slots.count(pair.rank, pair.chunk))
                     : 1;
    for (size_t site = first; site < model.sites.size(); ++site) {
      addInput(site, static_cast<int64_t>(site - first), live);
      addResiduals(site, static_cast<int64_t>(site - first), live);
    }
  }
  return success();
}

FailureOr<RecomputeModel>
hocket::pipe::deriveRecompute(ModuleOp module, const PipelinePlan &plan,
                              const WorkRates &rates) {
  ModelBuilder builder(module, plan, rates);
  if (failed(builder.run(module)))
    return failure();
  return std::move(builder.model);
}
