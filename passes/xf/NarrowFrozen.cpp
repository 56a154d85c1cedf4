//===- NarrowFrozen.cpp - Frozen parameters without a wide copy -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/Passes.h"
#include "passes/xf/TrainingModule.h"

#include <utility>

namespace hocket::xf {
#define GEN_PASS_DEF_XFNARROWFROZEN
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket::xf;

/// The type of `variable`'s elements.
static Type elementOf(VariableOp variable) {
  return cast<RankedTensorType>(variable.getType()).getElementType();
}

namespace {
/// Narrows one frozen parameter after another.
class FrozenNarrowing {
public:
  FrozenNarrowing(ModuleOp module, FloatType compute)
      : module(module), symbols(module), compute(compute) {}

  void run();
  int64_t numNarrowed = 0;

private:
  /// Has every reading of `copy` read `parameter`, which is of its type.
  void takePlace(VariableOp parameter, VariableOp copy);
  bool isRead(VariableOp variable);

  ModuleOp module;
  SymbolTable symbols;
  FloatType compute;
};
} // namespace

bool FrozenNarrowing::isRead(VariableOp variable) {
  bool found = false;
  module.walk([&](ReadOp read) {
    found |= read.getVariable() == variable.getSymName();
  });
  return found;
}

void FrozenNarrowing::takePlace(VariableOp parameter, VariableOp copy) {
  module.walk([&](ReadOp read) {
    if (read.getVariable() == copy.getSymName())
      read.setVariable(parameter.getSymName());
  });
  symbols.erase(copy);
}

void FrozenNarrowing::run() {
  SmallVector<std::pair<VariableOp, VariableOp>> copied;
  for (auto copy : module.getOps<VariableOp>()) {
    if (copy.getKind() != VariableKind::Working ||
        copy.getWholeType().getRank() == 0) // A scale.
      continue;
    VariableOp parameter = parameterOf(copy, symbols);
    // What reads the wide values too, as a norm does, keeps them.
    if (parameter.getFrozen() && !isRead(parameter))
      copied.emplace_back(parameter, copy);
  }
  for (auto [parameter, copy] : copied) {
    parameter.setType(
        cast<RankedTensorType>(parameter.getType()).clone(compute));
    if (elementOf(copy) == compute)
      takePlace(parameter, copy);
    ++numNarrowed;
  }
}

namespace {
struct NarrowFrozenPass
    : public hocket::xf::impl::XfNarrowFrozenBase<NarrowFrozenPass> {
  void runOnOperation() override {
    FailureOr<TrainingOp> training = findTraining(getOperation());
    if (failed(training))
      return signalPassFailure();
    FloatType compute = narrowTypeOf(*training);
    if (!compute)
      return;
    FrozenNarrowing narrowing(getOperation(), compute);
    narrowing.run();
    numNarrowed += narrowing.numNarrowed;
  }
};
} // namespace
