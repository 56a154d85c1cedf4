//===- Quantize.cpp - Lets layers multiply in 8 bits ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gives the linear ops of called functions, which are the layers', operands of
/// 8 bits with a scale a tensor (arXiv 2209.05433), from its own largest
/// magnitude, or operands that blocks of 8 bits stand for, with a scale a
/// block. Layers that see images stay as they are. In blocks experts' matrices
/// are, too. The gradients' GEMMs follow in autodiff.
///
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Stream.h"
#include "dialects/xf/IR/XfConstraints.h"
#include "passes/xf/Passes.h"
#include "passes/xf/TrainingModule.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace hocket::xf {
#define GEN_PASS_DEF_XFQUANTIZE
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket::xf;

namespace {

/// A tensor of 8 bits, and what its numbers are times.
struct Quantized {
  Value value, scale;
};

class Quantizer {
public:
  explicit Quantizer(ModuleOp module)
      : module(module), symbols(module),
        format(Float8E4M3FNType::get(module.getContext())) {}

  void run(func::FuncOp function);
  /// The same with a scale a block.
  void runInBlocks(func::FuncOp function, Fp8Recipe recipe);
  int64_t numGemms = 0, numWeights = 0;

private:
  /// The GEMMs of `function` that may have 8-bit operands.
  static SmallVector<LinearOp> gemmsOf(func::FuncOp function);

  /// Makes argument `index` of `function`, which only `gemms` read as
  /// their weight, one of 8 bits, with a scale behind all arguments, if every
  /// call passes a working copy that nothing else reads.
  std::optional<Quantized> passQuantized(func::FuncOp function,
                                         BlockArgument weight);
  /// Whether `operand` is the only reading of a working copy.
  bool isReadOfOwn(Value operand);
  /// Makes a working copy one of 8 bits; returns the variable of its scale.
  VariableOp narrowCopy(VariableOp copy);

  /// Quantizes `value` at the builder.
  Quantized quantize(OpBuilder &builder, Value value);
  /// What `value` is once it has been put in blocks.
  Value inBlocks(OpBuilder &builder, Value value, ArrayRef<int64_t> blocks);

  ModuleOp module;
  SymbolTable symbols;
  FloatType format;
  /// Calls of one function, which grow an operand with each weight.
  SmallVector<func::CallOp> calls;
};

} // namespace

/// Whether `value` decides where tokens go, or how much of what all tokens'
/// experts make they take, which takes more digits.
static bool reachesRouter(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<ReshapeOp, CastOp>(user))
      return reachesRouter(user->getResult(0));
    auto gate = dyn_cast<RowGateOp>(user);
    return isa<RouterOp, SinkhornOp, RouterProbabilitiesOp, RouterZLossOp>(
               user) ||
           (gate && gate.getGate() == value);
  });
}

SmallVector<LinearOp> Quantizer::gemmsOf(func::FuncOp function) {
  SmallVector<LinearOp> gemms;
  for (auto linear : function.getOps<LinearOp>())
    if (!reachesRouter(linear.getResult()))
      gemms.push_back(linear);
  return gemms;
}

bool Quantizer::isReadOfOwn(Value operand) {
  auto read = operand.getDefiningOp<ReadOp>();
  if (!read || !operand.hasOneUse())
    return false;
  auto copy = symbols.lookup<VariableOp>(read.getVariable());
  if (copy.getKind() != VariableKind::Working)
    return false;
  auto uses = SymbolTable::getSymbolUses(copy, module);
  return uses && std::next(uses->begin()) == uses->end();
}

VariableOp Quantizer::narrowCopy(VariableOp copy) {
  OpBuilder builder(copy);
  builder.setInsertionPointAfter(copy);
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  copy.setType(cast<RankedTensorType>(copy.getType()).clone(format));
  auto scale = builder.create<VariableOp>(
      copy.getLoc(), builder.getStringAttr(copy.getSymName() + ".scale"),
      TypeAttr::get(scalar), copy.getKindAttr(), InitAttr(),
      builder.getI32IntegerAttr(0), UnitAttr(), copy.getOfAttr(), StringAttr(),
      TypeAttr(), ParameterRoleAttr());
  symbols.insert(scale);
  ++numWeights;
  return scale;
}

std::optional<Quantized> Quantizer::passQuantized(func::FuncOp function,
                                                  BlockArgument weight) {
  unsigned index = weight.getArgNumber();
  for (func::CallOp call : calls)
    if (!isReadOfOwn(call.getOperand(index)))
      return std::nullopt;
  auto scalar =
      RankedTensorType::get({}, Float32Type::get(weight.getContext()));
  auto type = cast<RankedTensorType>(weight.getType()).clone(format);
  weight.setType(type);
  Value scale = function.front().addArgument(scalar, weight.getLoc());
  for (func::CallOp call : calls) {
    auto read = call.getOperand(index).getDefiningOp<ReadOp>();
    VariableOp of = narrowCopy(symbols.lookup<VariableOp>(read.getVariable()));
    read.getResult().setType(type);
    OpBuilder builder(read);
    builder.setInsertionPointAfter(read);
    Value its = builder.create<ReadOp>(read.getLoc(), scalar, of.getSymName());
    call->insertOperands(call->getNumOperands(), its);
  }
  return Quantized{weight, scale};
}

Quantized Quantizer::quantize(OpBuilder &builder, Value value) {
  Location loc = value.getLoc();
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  Value amax = builder.create<AmaxOp>(loc, scalar, value);
  Value scale = builder.create<QuantizeScaleOp>(loc, scalar, amax, format);
  auto type = cast<RankedTensorType>(value.getType()).clone(format);
  return {builder.create<QuantizeOp>(loc, type, value, scale), scale};
}

Value Quantizer::inBlocks(OpBuilder &builder, Value value,
                          ArrayRef<int64_t> blocks) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> scales;
  for (auto [size, block] : llvm::zip_equal(type.getShape(), blocks))
    scales.push_back((size - 1) / block + 1);
  auto sizes = builder.getDenseI64ArrayAttr(blocks);
  auto codes = builder.create<QuantizeBlocksOp>(
      value.getLoc(), type.clone(format),
      RankedTensorType::get(scales, builder.getF32Type()), value, sizes);
  return builder.create<DequantizeBlocksOp>(
      value.getLoc(), type, codes.getCodes(), codes.getScales(), sizes);
}

void Quantizer::runInBlocks(func::FuncOp function, Fp8Recipe recipe) {
  llvm::DenseMap<Value, Value> done;
  auto put = [&](OpBuilder &builder, OpOperand &operand,
                 ArrayRef<int64_t> blocks) {
    Value &known = done[operand.get()];
    if (!known)
      known = inBlocks(builder, operand.get(), blocks);
    operand.assign(known);
  };
  auto rankOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getRank();
  };
  for (LinearOp linear : gemmsOf(function)) {
    OpBuilder builder(linear);
    int64_t rank = rankOf(linear.getInput());
    put(builder, linear.getInputMutable(), tokenBlocks(recipe, rank, rank - 1));
    put(builder, linear.getWeightMutable(), weightBlocks(recipe, 2, 1));
    linear.setFp8(recipe);
    ++numGemms;
  }
  for (auto experts : function.getOps<GroupedLinearOp>()) {
    OpBuilder builder(experts);
    int64_t rank = rankOf(experts.getRows());
    put(builder, experts.getRowsMutable(), tokenBlocks(recipe, rank, rank - 1));
    put(builder, experts.getWeightMutable(), weightBlocks(recipe, 3, 2));
    experts.setFp8(recipe);
    ++numGemms;
  }
}

void Quantizer::run(func::FuncOp function) {
  // 1. Who is called, and with which GEMMs.
  calls.clear();
  module.walk([&](func::CallOp call) {
    if (call.getCallee() == function.getName())
      calls.push_back(call);
  });
  SmallVector<LinearOp> gemms = gemmsOf(function);
  if (calls.empty() || gemms.empty())
    return;
  // 2. Weights, once a step where nothing but these GEMMs reads them.
  llvm::SmallPtrSet<Operation *, 16> chosen(gemms.begin(), gemms.end());
  llvm::DenseMap<Value, Quantized> done;
  for (LinearOp linear : gemms) {
    auto weight = dyn_cast<BlockArgument>(linear.getWeight());
    bool only =
        weight && llvm::all_of(weight.getUses(), [&](OpOperand &use) {
          return chosen.contains(use.getOwner()) && use.getOperandNumber() == 1;
        });
    if (only && !done.contains(weight))
      if (auto passed = passQuantized(function, weight))
        done[weight] = *passed;
  }
  // 3. All other operands where they are first multiplied, and the GEMMs.
  for (LinearOp linear : gemms) {
    OpBuilder builder(linear);
    auto factor = [&](Value value) {
      auto [entry, first] = done.try_emplace(value);
      if (first)
        entry->second = quantize(builder, value);
      return entry->second;
    };
    Quantized input = factor(linear.getInput());
    Quantized weight = factor(linear.getWeight());
    linear.getInputMutable().assign(input.value);
    linear.getWeightMutable().assign(weight.value);
    linear.getScalesMutable().assign({input.scale, weight.scale});
    ++numGemms;
  }
  growArguments(function);
}

/// Whether `function` is a layer's, one that is called, and not one of those
/// before the model's own that see images.
static bool isLayer(func::FuncOp function, ModuleOp module) {
  if (function.getNumArguments() > 0 && isStreamOfSequences(function, 0))
    return false;
  auto uses = SymbolTable::getSymbolUses(function, module);
  return uses && llvm::any_of(*uses, [](SymbolTable::SymbolUse use) {
           return isa<func::CallOp>(use.getUser());
         });
}

namespace {
struct QuantizePass : public hocket::xf::impl::XfQuantizeBase<QuantizePass> {
  void runOnOperation() override {
    FailureOr<TrainingOp> training = findTraining(getOperation());
    if (failed(training))
      return signalPassFailure();
    if (!training->getFp8())
      return;
    if (training->getPrecision() != Precision::Bf16) {
      training->emitOpError("fp8 goes with precision bf16 only, which it has "
                            "not");
      return signalPassFailure();
    }
    Quantizer quantizer(getOperation());
    Fp8Recipe recipe = *training->getFp8();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && isLayer(function, getOperation())) {
        if (recipe == Fp8Recipe::Tensorwise)
          quantizer.run(function);
        else
          quantizer.runInBlocks(function, recipe);
      }
    numGemms += quantizer.numGemms;
    numWeights += quantizer.numWeights;
  }
};
} // namespace
