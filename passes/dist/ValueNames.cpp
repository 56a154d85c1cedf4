//===- ValueNames.cpp - What people call a value --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/ValueNames.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/xf/IR/HostInputs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

/// Calls nest no deeper than this: layer in forward in step.
static constexpr int deepest = 8;

std::string hocket::dist::nameOfAnyLayer(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

StringRef hocket::dist::nameOfPlace(Location loc) {
  auto named = loc->findInstanceOf<NameLoc>();
  return named ? named.getName().getValue() : StringRef();
}

std::string hocket::dist::lineOf(Location loc) {
  auto line = loc->findInstanceOf<FileLineColLoc>();
  if (!line || line.getLine() == 0)
    return "";
  return (llvm::sys::path::filename(line.getFilename()) + ":" +
          Twine(line.getLine()) + ":" + Twine(line.getColumn()))
      .str();
}

std::string hocket::dist::nameOfOp(Operation *op) {
  std::string name = op->getName().stripDialect().str();
  StringRef place = nameOfPlace(op->getLoc());
  if (auto read = dyn_cast<xf::ReadOp>(op))
    return name + " '" + nameOfAnyLayer(read.getVariable()) + "'";
  if (auto write = dyn_cast<xf::WriteOp>(op))
    return name + " '" + nameOfAnyLayer(write.getVariable()) + "'";
  if (auto add = dyn_cast<xf::AccumulateOp>(op))
    return name + " '" + nameOfAnyLayer(add.getVariable()) + "'";
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    if (auto read = constrain.getInput().getDefiningOp<xf::ReadOp>())
      return "the update with '" + nameOfAnyLayer(read.getVariable()) + "'";
  if (place.empty())
    return name;
  name += " '" + place.str() + "'";
  std::string line = lineOf(op->getLoc());
  return line.empty() ? name : name + " (" + line + ")";
}

ValueNames::ValueNames(ModuleOp module) : module(module), symbols(module) {
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](func::CallOp call) {
      if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
        bind(call.getOperands(), callee);
    });
  for (auto step : module.getOps<xf::StepOp>())
    bindStep(step);
}

void ValueNames::bind(ValueRange operands, func::FuncOp callee) {
  if (callee.isExternal())
    return;
  for (auto [operand, argument] : llvm::zip(operands, callee.getArguments()))
    origins.try_emplace(argument, operand);
}

void ValueNames::bindStep(xf::StepOp step) {
  for (auto [value, argument] : xf::argumentsOfBackward(step, symbols))
    origins.try_emplace(argument, value);
}

std::string ValueNames::of(Value value) const { return nameOf(value, 0); }

std::string ValueNames::nameOf(Value value, int depth) const {
  if (depth > deepest)
    return "";
  if (isa<BlockArgument>(value)) {
    if (Value origin = origins.lookup(value))
      if (std::string name = nameOf(origin, depth + 1); !name.empty())
        return name;
    return nameOfPlace(value.getLoc()).str();
  }
  Operation *op = value.getDefiningOp();
  if (auto read = dyn_cast<xf::ReadOp>(op))
    return nameOfAnyLayer(read.getVariable());
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (callee && !callee.isExternal())
      return nameOf(callee.front().getTerminator()->getOperand(index),
                    depth + 1);
  }
  return nameOfPlace(op->getLoc()).str();
}
