//===- SplitStages.cpp - Cut the step into stages -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Deals the layers to stages, cuts forward, backward and evaluation between
// them, and gives each pipeline rank its part of the update.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Xf.h"
#include "passes/pipe/FlowCut.h"
#include "passes/pipe/Passes.h"
#include "passes/pipe/PipelinePlan.h"
#include "passes/pipe/UpdateSplit.h"

namespace hocket::pipe {
#define GEN_PASS_DEF_PIPESPLITSTAGES
#include "passes/pipe/Passes.h.inc"
} // namespace hocket::pipe

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

namespace {

/// Splits one step.
class StageSplitter {
public:
  StageSplitter(ModuleOp module, const PipelinePlan &plan)
      : module(module), plan(plan), symbols(module), builder(module) {}

  LogicalResult run();
  int64_t links = 0;

private:
  unsigned stages() const { return static_cast<unsigned>(plan.shape.stages()); }
  /// Forward's step of a stage is its number, backward's counts from the end.
  unsigned mirrored(unsigned step) const { return stages() - 1 - step; }

  /// The fragment of the whole step; null if it has none of this kind.
  FragmentOp fragmentOf(FragmentKind kind);
  func::FuncOp functionOf(FragmentKind kind);
  /// Layers whose results stand among the embeddings, which are the first calls
  /// of `function`: they are in the first stage, and no plan counts them.
  static size_t layersOfImages(func::FuncOp function);
  /// Whether there are parameters that are not trained.
  bool trainsSome();
  LogicalResult dealLayers(func::FuncOp forward);
  void addBackward(MutableArrayRef<double> costs, double &embedding,
                   double &head);
  /// The argument of a fragment's function that is `input`; none if it has no
  /// such one.
  BlockArgument hostArgument(func::FuncOp function, xf::HostInput input);
  /// Cuts a function that has the embedding, the layers and the head in order.
  LogicalResult cutForward(FlowCut &cut, func::FuncOp function,
                           FragmentKind kind);
  LogicalResult cutBackward(FlowCut &cut, const FlowCut &forward);
  /// Has forward keep what backward takes.
  LogicalResult requireResiduals(FlowCut &forward, const FlowCut &backward);
  /// Forward's value that is argument `index` of backward.
  Value residualOf(unsigned index);

  LogicalResult cutTraining();
  void buildTraining(FlowCut &forward, FlowCut &backward);
  /// The fragments of what has no backward; nothing where the step has none.
  LogicalResult buildForwardOnly(FragmentKind kind);
  /// Adds `cut` to the module as the fragment of `kind` of `stage`. `sources`
  /// is where its arguments come from but those that cross, whose tags begin
  /// with `firstTag`.
  void addFragment(FragmentKind kind, unsigned stage, CutFunction &cut,
                   SmallVector<Attribute> sources, unsigned firstTag);
  /// The sources of what `cut` takes of the whole function of `kind`.
  SmallVector<Attribute> hostSources(FragmentKind kind, CutFunction &cut);

  void eraseWhole();

  ModuleOp module;
  const PipelinePlan &plan;
  SymbolTable symbols;
  OpBuilder builder;
  func::FuncOp forward, backward;
  SmallVector<int64_t> stageOfLayer; ///< Those of images first.
  size_t ofImages = 0;
  SmallVector<FragmentOp> whole;
  unsigned nextTag = 0;
};

} // namespace

static StringRef nameOfKind(FragmentKind kind) {
  switch (kind) {
  case FragmentKind::Forward:
    return "forward";
  case FragmentKind::Backward:
    return "backward";
  case FragmentKind::Encode:
    return "encode";
  case FragmentKind::Prefill:
    return "prefill";
  case FragmentKind::Decode:
    return "decode";
  default:
    return "evaluate";
  }
}

FragmentOp StageSplitter::fragmentOf(FragmentKind kind) {
  for (FragmentOp fragment : whole)
    if (fragment.getKind() == kind)
      return fragment;
  return {};
}

func::FuncOp StageSplitter::functionOf(FragmentKind kind) {
  FragmentOp fragment = fragmentOf(kind);
  return fragment ? symbols.lookup<func::FuncOp>(fragment.getFunction())
                  : func::FuncOp();
}

bool StageSplitter::trainsSome() {
  return llvm::any_of(module.getOps<xf::VariableOp>(),
                      [](xf::VariableOp op) { return op.getFrozen(); });
}

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

/// Floating-point operations of everything in `body`, calls not followed.
static double flopsOf(Region &body) {
  double flops = 0;
  body.walk([&](Operation *op) {
    if (auto cost = dyn_cast<xf::CostOpInterface>(op))
      flops += cost.getCost().flops;
  });
  return flops;
}

size_t StageSplitter::layersOfImages(func::FuncOp function) {
  size_t calls = 0, before = 0;
  for (Operation &op : function.front()) {
    calls += isa<func::CallOp>(op);
    if (isa<xf::PlaceRowsOp>(op))
      before = calls;
  }
  return before;
}

/// Adds to `costs`, of the layers, what their backward halves cost, to `head`
/// what comes before the first of these, and to `embedding` those of layers
/// before all others.
void StageSplitter::addBackward(MutableArrayRef<double> costs,
                                double &embedding, double &head) {
  size_t next = costs.size();
  for (Operation &op : backward.front()) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto half = symbols.lookup<func::FuncOp>(call.getCallee());
      double flops = half ? flopsOf(half.getBody()) : 0;
      (next > 0 ? costs[--next] : embedding) += flops;
    } else if (auto cost = dyn_cast<xf::CostOpInterface>(op)) {
      head += next == costs.size() ? cost.getCost().flops : 0;
    }
  }
}

LogicalResult StageSplitter::dealLayers(func::FuncOp function) {
  SmallVector<double> costs;
  // Looking rows up costs next to nothing.
  double embedding = 0, head = 0;
  ofImages = layersOfImages(function);
  size_t calls = 0;
  for (Operation &op : function.front()) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto layer = symbols.lookup<func::FuncOp>(call.getCallee());
      double flops = layer ? flopsOf(layer.getBody()) : 0;
      if (calls++ < ofImages)
        embedding += flops;
      else
        costs.push_back(flops);
    } else if (auto cost = dyn_cast<xf::CostOpInterface>(op)) {
      head += costs.empty() ? 0 : cost.getCost().flops;
    }
  }
  // Where all is trained, backward costs twice as much everywhere.
  if (backward && trainsSome())
    addBackward(costs, embedding, head);
  costs.push_back(embedding);
  costs.push_back(head);
  FailureOr<SmallVector<int64_t>> counts =
      shareOutLayers(plan, costs, [&]() { return function.emitOpError(); });
  if (failed(counts))
    return failure();
  stageOfLayer.append(ofImages, 0);
  for (auto [stage, count] : llvm::enumerate(*counts))
    stageOfLayer.append(count, static_cast<int64_t>(stage));
  return success();
}

/// The first call of a layer that takes what other ops make of `value`; none
/// where there is no such call.
static func::CallOp firstLayerOf(Value value) {
  func::CallOp first;
  SmallVector<Value> left{value};
  while (!left.empty())
    for (Operation *user : left.pop_back_val().getUsers()) {
      auto call = dyn_cast<func::CallOp>(user);
      if (!call)
        llvm::append_range(left, user->getResults());
      else if (!first || call->isBeforeInBlock(first))
        first = call;
    }
  return first;
}

BlockArgument StageSplitter::hostArgument(func::FuncOp function,
                                          xf::HostInput input) {
  for (FragmentOp fragment : whole) {
    if (fragment.getFunction() != function.getName())
      continue;
    for (auto [i, source] : llvm::enumerate(fragment.getSources()))
      if (auto host = dyn_cast<HostAttr>(source);
          host && host.getName() == xf::stringifyHostInput(input))
        return function.getArgument(i);
  }
  return {};
}

LogicalResult StageSplitter::cutForward(FlowCut &cut, func::FuncOp function,
                                        FragmentKind kind) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    cut.setHostArgument(i, -1);
  auto calls = function.front().getOps<func::CallOp>();
  ptrdiff_t count = std::distance(calls.begin(), calls.end());
  if (kind == FragmentKind::Encode) {
    // What stands among the embeddings.
    cut.setHostArgument(0, 0);
    cut.setCallSteps(SmallVector<unsigned>(static_cast<size_t>(count), 0));
    return cut.assign();
  }
  // Functions that write have no layers of images, and behind an encoder
  // `decode` has the decoder's layers alone.
  size_t left = layersOfImages(function) == 0 ? ofImages : 0;
  SmallVector<unsigned> steps(stageOfLayer.begin() + left, stageOfLayer.end());
  bool isDecoder = kind == FragmentKind::Decode && count > 0 &&
                   count < static_cast<ptrdiff_t>(steps.size());
  if (isDecoder)
    steps.erase(steps.begin(), steps.end() - count);
  // The embedding is in the first stage, the head in the last.
  cut.endAtLastStep();
  auto placeWithLayers = [&](BlockArgument tokens) {
    func::CallOp first = firstLayerOf(tokens);
    auto at = std::distance(calls.begin(), llvm::find(calls, first));
    if (first && at < static_cast<int64_t>(steps.size()))
      cut.setHostArgument(tokens.getArgNumber(), static_cast<int>(steps[at]));
  };
  BlockArgument encoderTokens =
      hostArgument(function, xf::HostInput::EncoderTokens);
  cut.setHostArgument(encoderTokens ? encoderTokens.getArgNumber() : 0, 0);
  // The decoder's embedding is where its layers begin.
  if (encoderTokens || isDecoder)
    placeWithLayers(function.getArgument(0));
  // That of neighbours is where the layer is that encodes them.
  if (BlockArgument neighbors =
          hostArgument(function, xf::HostInput::Neighbors))
    placeWithLayers(neighbors);
  cut.setCallSteps(steps);
  return cut.assign();
}

Value StageSplitter::residualOf(unsigned index) {
  unsigned inputs = forward.getNumArguments();
  if (index < inputs)
    return forward.getArgument(index);
  // Behind the loss.
  return forward.front().getTerminator()->getOperand(index - inputs + 1);
}

LogicalResult StageSplitter::cutBackward(FlowCut &cut,
                                         const FlowCut &forwardCut) {
  for (unsigned i = 0; i < backward.getNumArguments(); ++i) {
    Value value = residualOf(i);
    if (std::optional<unsigned> from = forwardCut.stepOf(value))
      cut.setArgument(i, mirrored(forwardCut.lastStepOf(value)),
                      mirrored(*from));
    else
      cut.setArgumentEverywhere(i);
  }
  // Layers below all that is trained have no backward half.
  auto calls = backward.front().getOps<func::CallOp>();
  size_t count = std::distance(calls.begin(), calls.end());
  SmallVector<unsigned> steps;
  for (int64_t stage : llvm::reverse(stageOfLayer))
    steps.push_back(mirrored(static_cast<unsigned>(stage)));
  if (trainsSome() && count < steps.size())
    steps.resize(count);
  cut.setCallSteps(steps);
  // A gradient belongs where its parameter is read.
  llvm::StringMap<std::set<unsigned>> readers;
  for (auto variable : module.getOps<xf::VariableOp>()) {
    StringRef parameter = variable.getOf().value_or(variable.getSymName());
    for (unsigned step : forwardCut.readersOf(variable.getSymName()))
      readers[parameter].insert(mirrored(step));
  }
  for (auto variable : module.getOps<xf::VariableOp>())
    if (variable.getKind() == xf::VariableKind::Gradient && variable.getOf()) {
      const std::set<unsigned> &at = readers[*variable.getOf()];
      cut.setHome(variable.getSymName(),
                  SmallVector<unsigned>(at.begin(), at.end()));
    }
  return cut.assign();
}

LogicalResult StageSplitter::requireResiduals(FlowCut &forwardCut,
                                              const FlowCut &backwardCut) {
  for (BlockArgument argument : backward.getArguments()) {
    Value value = residualOf(argument.getArgNumber());
    std::optional<unsigned> made = forwardCut.stepOf(value);
    for (unsigned step : backwardCut.stepsOf(argument)) {
      // Behind where forward made it, it crosses with the gradients.
      unsigned stage = mirrored(step);
      if (failed(
              forwardCut.require(value, made ? std::max(stage, *made) : stage)))
        return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

void StageSplitter::addFragment(FragmentKind kind, unsigned stage,
                                CutFunction &cut,
                                SmallVector<Attribute> sources,
                                unsigned firstTag) {
  // Data goes to the next stage, or to the one before.
  int next = kind == FragmentKind::Backward ? -1 : +1;
  auto link = [&](int64_t other, unsigned tag) {
    return LinkAttr::get(module.getContext(), plan.shape.rankOf(other), tag);
  };
  for (unsigned i = 0; i < cut.received; ++i)
    sources.push_back(link(static_cast<int64_t>(stage) - next, firstTag + i));
  SmallVector<Attribute> targets;
  for (unsigned i = 0; i < cut.sent; ++i)
    targets.push_back(link(static_cast<int64_t>(stage) + next, nextTag++));
  targets.resize(cut.function.getNumResults(), builder.getUnitAttr());
  links += cut.sent;

  cut.function.setName((nameOfKind(kind) + "_" + Twine(stage)).str());
  symbols.insert(cut.function, builder.getInsertionPoint());
  builder.setInsertionPointAfter(cut.function);
  builder.create<FragmentOp>(
      module.getLoc(), FragmentKindAttr::get(module.getContext(), kind),
      FlatSymbolRefAttr::get(cut.function.getSymNameAttr()),
      builder.getArrayAttr(sources), builder.getArrayAttr(targets),
      builder.getI64IntegerAttr(stage),
      builder.getI64IntegerAttr(plan.shape.chunkOf(stage)),
      builder.getI64IntegerAttr(plan.shape.rankOf(stage)),
      builder.getUnitAttr());
}

SmallVector<Attribute> StageSplitter::hostSources(FragmentKind kind,
                                                  CutFunction &cut) {
  FragmentOp fragment = fragmentOf(kind);
  SmallVector<Attribute> sources;
  for (Value argument : ArrayRef(cut.arguments).drop_back(cut.received))
    sources.push_back(
        fragment.getSources()[cast<BlockArgument>(argument).getArgNumber()]);
  return sources;
}

void StageSplitter::buildTraining(FlowCut &forwardCut, FlowCut &backwardCut) {
  SmallVector<CutFunction> halves;
  for (unsigned step = 0; step < stages(); ++step)
    halves.push_back(backwardCut.build(step, "backward", {}));
  SmallVector<SmallVector<Attribute>> saved(stages());
  for (unsigned stage = 0, firstTag = 0; stage < stages(); ++stage) {
    // Forward returns, behind what it sends, what backward takes.
    CutFunction &half = halves[mirrored(stage)];
    SmallVector<Value> kept;
    for (Value argument : ArrayRef(half.arguments).drop_back(half.received))
      kept.push_back(residualOf(cast<BlockArgument>(argument).getArgNumber()));
    CutFunction cut = forwardCut.build(stage, "forward", kept);
    for (unsigned i = 0; i < kept.size(); ++i)
      saved[mirrored(stage)].push_back(
          SavedAttr::get(module.getContext(), FragmentKind::Forward,
                         FragmentEnd::Result, cut.sent + i));
    unsigned tag = nextTag;
    addFragment(FragmentKind::Forward, stage, cut,
                hostSources(FragmentKind::Forward, cut), firstTag);
    firstTag = tag;
  }
  for (unsigned step = 0, firstTag = 0; step < stages(); ++step) {
    unsigned tag = nextTag;
    addFragment(FragmentKind::Backward, mirrored(step), halves[step],
                saved[step], firstTag);
    firstTag = tag;
  }
}

LogicalResult StageSplitter::buildForwardOnly(FragmentKind kind) {
  func::FuncOp function = functionOf(kind);
  if (!function)
    return success();
  FlowCut whole(function, stages());
  if (failed(cutForward(whole, function, kind)))
    return failure();
  for (unsigned stage = 0, firstTag = nextTag; stage < stages(); ++stage) {
    CutFunction cut = whole.build(stage, nameOfKind(kind), {});
    unsigned tag = nextTag;
    addFragment(kind, stage, cut, hostSources(kind, cut), firstTag);
    firstTag = tag;
  }
  return success();
}

/// What has been cut up, and the schedules that run it.
void StageSplitter::eraseWhole() {
  for (auto schedule : llvm::make_early_inc_range(module.getOps<ScheduleOp>()))
    schedule.erase();
  for (FragmentOp fragment : whole) {
    if (Operation *function = symbols.lookup(fragment.getFunction()))
      symbols.erase(function);
    fragment.erase();
  }
}

LogicalResult StageSplitter::cutTraining() {
  FlowCut forwardCut(forward, stages()), backwardCut(backward, stages());
  if (failed(cutForward(forwardCut, forward, FragmentKind::Forward)) ||
      failed(cutBackward(backwardCut, forwardCut)) ||
      failed(requireResiduals(forwardCut, backwardCut)))
    return failure();
  buildTraining(forwardCut, backwardCut);
  return success();
}

LogicalResult StageSplitter::run() {
  // 1. The layers.
  whole = llvm::to_vector(module.getOps<FragmentOp>());
  forward = functionOf(FragmentKind::Forward);
  backward = functionOf(FragmentKind::Backward);
  func::FuncOp evaluate = functionOf(FragmentKind::Evaluate);
  if (!evaluate || !forward != !backward)
    return module.emitError("P7: a step has fragments F, B and E to cut");
  if (failed(dealLayers(forward ? forward : evaluate)))
    return failure();
  // 2. The functions of the stages, once it is known where everything goes.
  builder.setInsertionPointAfter(whole.back());
  if (forward && failed(cutTraining()))
    return failure();
  // 3. The same of what has no backward.
  for (FragmentKind kind : {FragmentKind::Evaluate, FragmentKind::Encode,
                            FragmentKind::Prefill, FragmentKind::Decode})
    if (failed(buildForwardOnly(kind)))
      return failure();
  // 4. Each rank's part of what is done once a step.
  for (FragmentKind kind : {FragmentKind::Update, FragmentKind::Prepare})
    if (func::FuncOp function = functionOf(kind))
      if (failed(splitUpdate(module, plan, kind, function)))
        return failure();
  eraseWhole();
  return success();
}

namespace {
struct SplitStagesPass
    : public hocket::pipe::impl::PipeSplitStagesBase<SplitStagesPass> {
  void runOnOperation() override {
    FailureOr<PipelinePlan> plan = readPipelinePlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    if (!plan->isCut())
      return;
    StageSplitter splitter(getOperation(), *plan);
    if (failed(splitter.run()))
      return signalPassFailure();
    numStages += plan->shape.stages();
    numLinks += splitter.links;
  }
};
} // namespace
