//===- LayerVariants.cpp - Layers that keep less --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/LayerVariants.h"

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

bool hocket::pipe::isFree(Operation *op) {
  return xf::isView(op) ||
         isa<xf::ReadOp, xf::ConstantOp, arith::ConstantOp>(op);
}

namespace {

/// The attributes that say why an op is there, and not what it does.
DictionaryAttr meaningOf(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("why");
  attributes.erase("recomputed");
  return attributes.getDictionary(op->getContext());
}

/// Of ops that compute the same from the same, leaves the first.
void mergeEqual(Block &block) {
  llvm::DenseMap<llvm::hash_code, SmallVector<Operation *>> seen;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    bool reads = isa<xf::ReadOp>(op);
    if (op.getNumResults() == 0 || op.getNumRegions() > 0 ||
        isa<func::CallOp>(op) || !(reads || isPure(&op)))
      continue;
    DictionaryAttr meaning = meaningOf(&op);
    auto hash = llvm::hash_combine(
        op.getName().getAsOpaquePointer(), meaning.getAsOpaquePointer(),
        llvm::hash_combine_range(op.operand_begin(), op.operand_end()));
    SmallVector<Operation *> &alike = seen[hash];
    auto *same = llvm::find_if(alike, [&](Operation *other) {
      return other->getName() == op.getName() && meaningOf(other) == meaning &&
             llvm::equal(other->getOperands(), op.getOperands()) &&
             llvm::equal(other->getResultTypes(), op.getResultTypes());
    });
    if (same == alike.end()) {
      alike.push_back(&op);
      continue;
    }
    op.replaceAllUsesWith(*same);
    op.erase();
  }
}

/// Builds one joint backward half in a copy of the backward half.
class JointBuilder {
public:
  JointBuilder(func::FuncOp forward, func::FuncOp joint)
      : forward(forward), joint(joint) {}

  void run(const std::vector<ArgumentSource> &sources,
           const llvm::BitVector &again);
  JointBackward result;
  int64_t recomputed = 0;

private:
  Value returned(unsigned index) {
    return forward.front().getTerminator()->getOperand(index);
  }
  /// `value` of the forward half, in the joint one, before `user`.
  Value materialise(Value value, Operation *user);

  func::FuncOp forward, joint;
  IRMapping mapping;
};

} // namespace

Value JointBuilder::materialise(Value value, Operation *user) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned index = joint.getNumArguments();
    joint.insertArgument(index, value.getType(), DictionaryAttr(),
                         value.getLoc());
    result.added.push_back(argument.getArgNumber());
    mapping.map(value, joint.getArgument(index));
    return joint.getArgument(index);
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    materialise(operand, user);
  OpBuilder builder(user);
  Operation *copy = builder.clone(*op, mapping);
  if (!isFree(op)) {
    copy->setAttr("recomputed", builder.getUnitAttr());
    ++recomputed;
  }
  return mapping.lookup(value);
}

void JointBuilder::run(const std::vector<ArgumentSource> &sources,
                       const llvm::BitVector &again) {
  llvm::BitVector erased(sources.size());
  for (auto [i, source] : llvm::enumerate(sources)) {
    bool isAgain =
        source.kind == ArgumentSource::Result && again.test(source.index);
    if (isAgain)
      erased.set(i);
    else
      result.taken.push_back(i);
    if (isAgain || source.kind == ArgumentSource::Gradient)
      continue;
    Value value = source.kind == ArgumentSource::Argument
                      ? Value(forward.getArgument(source.index))
                      : returned(source.index);
    if (!mapping.contains(value))
      mapping.map(value, joint.getArgument(i));
  }
  SmallVector<Operation *> users;
  for (Operation &op : joint.front())
    users.push_back(&op);
  for (Operation *user : users)
    for (OpOperand &operand : user->getOpOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand.get());
      if (argument && argument.getArgNumber() < erased.size() &&
          erased.test(argument.getArgNumber()))
        operand.set(materialise(
            returned(sources[argument.getArgNumber()].index), user));
    }
  erased.resize(joint.getNumArguments());
  joint.eraseArguments(erased);
  mergeEqual(joint.front());
  result.function = joint;
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

static std::string keyOf(func::FuncOp function, const llvm::BitVector &bits) {
  std::string key = function.getName().str() + ":";
  for (unsigned i = 0; i < bits.size(); ++i)
    key += bits.test(i) ? '1' : '0';
  return key;
}

func::FuncOp LayerVariants::insertCopy(func::FuncOp function,
                                       StringRef suffix) {
  func::FuncOp copy = function.clone();
  std::string name = (function.getName() + suffix).str();
  for (int i = 1; symbols.lookup(name); ++i)
    name = (function.getName() + suffix + "_" + Twine(i)).str();
  copy.setName(name);
  symbols.insert(copy, std::next(Block::iterator(function)));
  return copy;
}

func::FuncOp LayerVariants::leanForward(func::FuncOp forward,
                                        const llvm::BitVector &dropped) {
  func::FuncOp &lean = functions[keyOf(forward, dropped)];
  if (lean)
    return lean;
  lean = insertCopy(forward, "_lean");
  lean.front().getTerminator()->eraseOperands(dropped);
  lean.eraseResults(dropped);
  return lean;
}

func::FuncOp LayerVariants::forwardAgain(func::FuncOp forward) {
  func::FuncOp &again = functions[keyOf(forward, {}) + "again"];
  if (again)
    return again;
  again = insertCopy(forward, "_again");
  for (Operation &op :
       llvm::make_early_inc_range(again.front().without_terminator())) {
    if (op.getNumResults() == 0) {
      op.erase();
    } else if (!isFree(&op)) {
      op.setAttr("recomputed", UnitAttr::get(op.getContext()));
      ++recomputedOps;
    }
  }
  return again;
}

const JointBackward &
LayerVariants::jointBackward(func::FuncOp forward, func::FuncOp backward,
                             const std::vector<ArgumentSource> &sources,
                             const llvm::BitVector &again) {
  std::string key = keyOf(forward, again) + keyOf(backward, {});
  for (const ArgumentSource &source : sources)
    key +=
        " " + std::to_string(source.kind) + "." + std::to_string(source.index);
  auto found = joints.find(key);
  if (found != joints.end())
    return found->second;
  JointBuilder builder(forward, insertCopy(backward, "_joint"));
  builder.run(sources, again);
  recomputedOps += builder.recomputed;
  return joints.emplace(key, builder.result).first->second;
}
