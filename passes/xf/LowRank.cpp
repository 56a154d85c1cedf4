//===- LowRank.cpp - Low-rank adapters of linear layers -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes what `xf.low_rank` asks for beside the linear ops that have a
/// target's role, and freezes every other parameter. What is frozen before gets
/// none. Beside those of experts each expert has an adapter of its own, which
/// reads the same rows.
///
//===----------------------------------------------------------------------===//

#include "passes/xf/Passes.h"
#include "passes/xf/TrainingModule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace hocket::xf {
#define GEN_PASS_DEF_XFLOWRANK
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket::xf;

/// Where the random streams of adapters' dropout begin, of layers and of linear
/// ops outside of them; a model's own are lower.
static constexpr int32_t firstStream = 64, firstOwnStream = 4096;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether ranks that share a layer split what it takes in, not what it makes.
static bool splitsInputs(ParameterRole role) {
  return role == ParameterRole::AttentionOutput ||
         role == ParameterRole::Down || role == ParameterRole::ExpertDown;
}

/// The weight that `op` multiplies with, of a layer or of each expert; null for
/// any other op.
static Value weightOf(Operation *op) {
  if (auto linear = dyn_cast<LinearOp>(op))
    return linear.getWeight();
  if (auto grouped = dyn_cast<GroupedLinearOp>(op))
    return grouped.getWeight();
  return {};
}

/// Multiplies `x` with `weight` as the linear op `like` does with its own.
static Value multiplyLike(OpBuilder &builder, Operation *like, Location loc,
                          Type type, Value x, Value weight) {
  if (auto grouped = dyn_cast<GroupedLinearOp>(like))
    return builder.create<GroupedLinearOp>(
        loc, type, x, weight, grouped.getRanges(),
        grouped.getExpectedRowsAttr(), Fp8RecipeAttr());
  return builder.create<LinearOp>(loc, type, x, weight, Value(), ValueRange(),
                                  Fp8RecipeAttr());
}

namespace {

/// The two matrices of an adapter, where a linear op reads them.
struct Adapter {
  Value a, b;
};

/// Adds adapters to one function after another.
class AdapterBuilder {
public:
  AdapterBuilder(ModuleOp module, LowRankOp request)
      : module(module), request(request), symbols(module) {}

  LogicalResult run();
  int64_t numAdapters = 0;

private:
  /// The parameter that `value` is the reading of, of itself or of its working
  /// copy; null for any other value.
  VariableOp parameterRead(Value value);
  bool isTarget(VariableOp parameter);
  /// The linear ops of `function` that get an adapter.
  SmallVector<Operation *> targetsOf(func::FuncOp function);
  LogicalResult adaptCallee(func::FuncOp function,
                            ArrayRef<Operation *> linears);
  /// Adds what `linear` is to multiply with, in `type`, and its reading.
  Adapter readAdapter(OpBuilder &builder, VariableOp parameter, Type element);
  Value readMatrix(OpBuilder &builder, VariableOp parameter, StringRef suffix,
                   RankedTensorType type, InitAttr init, ParameterRole role);
  /// Adds `adapter` beside `linear`, with dropout of its own where `stream`
  /// names a random one.
  void adapt(Operation *linear, Adapter adapter, Value instance,
             std::optional<int32_t> stream);
  bool drops() { return request.getDropout().convertToDouble() > 0; }

  /// The calls of `function`, and whether training alone makes them.
  SmallVector<func::CallOp> callsOf(func::FuncOp function);

  ModuleOp module;
  LowRankOp request;
  SymbolTable symbols;
  llvm::StringSet<> withoutAdapters; ///< Of parameters.
  int32_t nextRandomKey = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// What gets an adapter
//===----------------------------------------------------------------------===//

VariableOp AdapterBuilder::parameterRead(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  if (!read)
    return {};
  auto variable = symbols.lookup<VariableOp>(read.getVariable());
  VariableOp parameter = parameterOf(variable, symbols);
  return parameter.getKind() == VariableKind::Parameter ? parameter
                                                        : VariableOp();
}

bool AdapterBuilder::isTarget(VariableOp parameter) {
  std::optional<ParameterRole> role = parameter.getRole();
  return role && !withoutAdapters.contains(parameter.getSymName()) &&
         llvm::any_of(request.getTargets().getAsRange<ParameterRoleAttr>(),
                      [&](ParameterRoleAttr target) {
                        return target.getValue() == *role;
                      });
}

SmallVector<func::CallOp> AdapterBuilder::callsOf(func::FuncOp function) {
  SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) {
    if (call.getCallee() == function.getName())
      calls.push_back(call);
  });
  return calls;
}

SmallVector<Operation *> AdapterBuilder::targetsOf(func::FuncOp function) {
  SmallVector<Operation *> linears;
  SmallVector<func::CallOp> calls = callsOf(function);
  for (Operation &op : function.getOps()) {
    Value weight = weightOf(&op);
    if (!weight)
      continue;
    auto argument = dyn_cast<BlockArgument>(weight);
    auto reads = [&](Value value) {
      VariableOp parameter = parameterRead(value);
      return parameter && isTarget(parameter);
    };
    bool isTargeted =
        argument
            ? !calls.empty() && llvm::all_of(calls,
                                             [&](func::CallOp call) {
                                               return reads(call.getOperand(
                                                   argument.getArgNumber()));
                                             })
            : reads(weight);
    if (isTargeted)
      linears.push_back(&op);
  }
  return linears;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

Value AdapterBuilder::readMatrix(OpBuilder &builder, VariableOp parameter,
                                 StringRef suffix, RankedTensorType type,
                                 InitAttr init, ParameterRole role) {
  StringRef base = parameter.getSymName();
  base.consume_back(".weight");
  std::string name = (base + suffix).str();
  RankedTensorType wide = type.clone(builder.getF32Type());
  auto variable = symbols.lookup<VariableOp>(name);
  if (!variable) {
    OpBuilder at(parameter);
    at.setInsertionPointAfter(parameter);
    variable = at.create<VariableOp>(
        parameter.getLoc(), at.getStringAttr(name), TypeAttr::get(wide),
        VariableKindAttr::get(at.getContext(), VariableKind::Parameter), init,
        at.getI32IntegerAttr(nextRandomKey++), parameter.getDecayAttr(),
        FlatSymbolRefAttr(), StringAttr(), TypeAttr(),
        ParameterRoleAttr::get(at.getContext(), role));
    symbols.insert(variable);
  }
  if (type != wide) {
    std::string copyName = name + ".working";
    auto copy = symbols.lookup<VariableOp>(copyName);
    if (!copy) {
      OpBuilder at(variable);
      at.setInsertionPointAfter(variable);
      copy = at.create<VariableOp>(
          parameter.getLoc(), at.getStringAttr(copyName), TypeAttr::get(type),
          VariableKindAttr::get(at.getContext(), VariableKind::Working),
          InitAttr(), at.getI32IntegerAttr(0), UnitAttr(),
          FlatSymbolRefAttr::get(variable.getSymNameAttr()), StringAttr(),
          TypeAttr(), ParameterRoleAttr());
      symbols.insert(copy);
    }
    variable = copy;
  }
  return builder.create<ReadOp>(parameter.getLoc(), type,
                                variable.getSymName());
}

/// As PEFT draws them: A as a linear layer is by default (He et al., arXiv
/// 1502.01852, with a slope of the root of 5), which is uniform within 1 over
/// the root of its inputs, and B zero, so that the model begins as it was.
Adapter AdapterBuilder::readAdapter(OpBuilder &builder, VariableOp parameter,
                                    Type element) {
  auto weight = cast<RankedTensorType>(parameter.getType());
  int64_t dims = weight.getRank();
  int64_t out = weight.getDimSize(dims - 2), in = weight.getDimSize(dims - 1);
  auto rank = static_cast<int64_t>(request.getRank());
  auto matrix = [&](int64_t rows, int64_t columns) {
    SmallVector<int64_t> shape(weight.getShape());
    shape[dims - 2] = rows;
    shape[dims - 1] = columns;
    return RankedTensorType::get(shape, element);
  };
  ParameterRole role = *parameter.getRole();
  bool inputs = splitsInputs(role);
  InitAttr uniform = InitAttr::get(
      builder.getContext(), "uniform",
      builder.getF64FloatAttr(1 / std::sqrt(static_cast<double>(in))));
  InitAttr zeros = InitAttr::get(builder.getContext(), "zeros", FloatAttr());
  Value a = readMatrix(builder, parameter, ".lora_A.weight", matrix(rank, in),
                       uniform, inputs ? role : ParameterRole::LowRank);
  Value b = readMatrix(builder, parameter, ".lora_B.weight", matrix(out, rank),
                       zeros, inputs ? ParameterRole::LowRank : role);
  return {a, b};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void AdapterBuilder::adapt(Operation *linear, Adapter adapter, Value instance,
                           std::optional<int32_t> stream) {
  OpBuilder builder(linear);
  builder.setInsertionPointAfter(linear);
  Location loc = linear->getLoc();
  auto named = [&](StringRef name) {
    return NameLoc::get(builder.getStringAttr(name), loc);
  };
  // What is multiplied in 8 bits is what it was before here.
  Value x = linear->getOperand(0), result = linear->getResult(0);
  if (auto quantized = x.getDefiningOp<QuantizeOp>())
    x = quantized.getInput();
  if (stream)
    x = builder.create<DropoutOp>(named("lora_dropout"), x, instance,
                                  request.getDropoutAttr(),
                                  builder.getI32IntegerAttr(*stream));
  auto rank = static_cast<int64_t>(request.getRank());
  SmallVector<int64_t> shape(tensorOf(x).getShape());
  shape.back() = rank;
  Type element = getElementTypeOrSelf(adapter.a);
  auto narrow = RankedTensorType::get(shape, element);
  Value low =
      multiplyLike(builder, linear, named("lora_A"), narrow, x, adapter.a);
  // alpha / rank is exact in 32 bits at least.
  auto wide = narrow.clone(builder.getF32Type());
  if (narrow != wide)
    low = builder.create<CastOp>(loc, wide, low);
  Value scale = builder.create<ConstantOp>(
      loc, RankedTensorType::get({}, builder.getF32Type()),
      builder.getF64FloatAttr(request.getAlpha().convertToDouble() /
                              static_cast<double>(rank)));
  low = builder.create<MultiplyOp>(named("lora_scale"), wide, low, scale);
  if (narrow != wide)
    low = builder.create<CastOp>(loc, narrow, low);
  Type type = result.getType();
  Value more =
      multiplyLike(builder, linear, named("lora_B"), type, low, adapter.b);
  auto sum = builder.create<AddOp>(named("lora_sum"), type, result, more);
  result.replaceAllUsesExcept(sum.getResult(), sum);
  ++numAdapters;
}

LogicalResult AdapterBuilder::adaptCallee(func::FuncOp function,
                                          ArrayRef<Operation *> linears) {
  SmallVector<func::CallOp> calls = callsOf(function);
  Block &body = function.front();
  // What writes or validates drops nothing.
  bool trains = drops() && llvm::all_of(calls, [](func::CallOp call) {
                  auto caller = call->getParentOfType<func::FuncOp>();
                  return caller.getName() == "forward";
                });
  // 1. Which layer it is, where something is dropped.
  Value instance;
  if (trains) {
    Type type = IntegerType::get(module.getContext(), 32);
    instance = body.addArgument(type, function.getLoc());
    for (auto [i, call] : llvm::enumerate(calls)) {
      OpBuilder builder(call);
      Value index = builder.create<arith::ConstantOp>(
          call.getLoc(), builder.getI32IntegerAttr(static_cast<int32_t>(i)));
      call->insertOperands(call->getNumOperands(), index);
    }
  }
  // 2. The matrices, as arguments.
  for (size_t i = 0; i < linears.size(); ++i) {
    Operation *linear = linears[i];
    unsigned at = cast<BlockArgument>(weightOf(linear)).getArgNumber();
    Type element = getElementTypeOrSelf(linear->getResult(0));
    Type types[2];
    for (func::CallOp call : calls) {
      OpBuilder builder(call);
      Adapter own =
          readAdapter(builder, parameterRead(call.getOperand(at)), element);
      types[0] = own.a.getType();
      types[1] = own.b.getType();
      call->insertOperands(call->getNumOperands(), {own.a, own.b});
    }
    Adapter adapter{body.addArgument(types[0], linear->getLoc()),
                    body.addArgument(types[1], linear->getLoc())};
    std::optional<int32_t> stream;
    if (trains)
      stream = firstStream + static_cast<int32_t>(i);
    adapt(linear, adapter, instance, stream);
  }
  growArguments(function);
  return success();
}

LogicalResult AdapterBuilder::run() {
  for (auto variable : module.getOps<VariableOp>()) {
    nextRandomKey = std::max(nextRandomKey,
                             static_cast<int32_t>(variable.getRandomKey()) + 1);
    if (variable.getKind() != VariableKind::Parameter)
      continue;
    if (variable.getFrozen())
      withoutAdapters.insert(variable.getSymName());
    variable.setFrozen(true);
  }
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (function.isExternal())
      continue;
    SmallVector<Operation *> called;
    for (Operation *linear : targetsOf(function)) {
      if (isa<BlockArgument>(weightOf(linear))) {
        called.push_back(linear);
        continue;
      }
      OpBuilder builder(linear);
      std::optional<int32_t> stream;
      if (drops() && function.getName() == "forward")
        stream = firstOwnStream + static_cast<int32_t>(numAdapters);
      adapt(linear,
            readAdapter(builder, parameterRead(weightOf(linear)),
                        getElementTypeOrSelf(linear->getResult(0))),
            Value(), stream);
    }
    if (!called.empty() && failed(adaptCallee(function, called)))
      return failure();
  }
  if (numAdapters == 0)
    return request.emitOpError("finds no linear op whose weight has one of its "
                               "roles");
  request.erase();
  return success();
}

namespace {
struct LowRankPass : public hocket::xf::impl::XfLowRankBase<LowRankPass> {
  void runOnOperation() override {
    auto requests = llvm::to_vector(getOperation().getOps<LowRankOp>());
    if (requests.empty())
      return;
    if (requests.size() > 1) {
      requests[1].emitOpError("is the second of the module");
      return signalPassFailure();
    }
    AdapterBuilder builder(getOperation(), requests.front());
    if (failed(builder.run()))
      return signalPassFailure();
    numAdapters += builder.numAdapters;
  }
};
} // namespace
