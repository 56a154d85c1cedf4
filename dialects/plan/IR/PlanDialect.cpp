//===- PlanDialect.cpp - The plan dialect ---------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/IR/Plan.h"

#include "dialects/plan/PlanRules.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::plan;

#include "dialects/plan/IR/PlanDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/IR/PlanAttrs.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/plan/IR/PlanAttrs.cpp.inc"
      >();
}

Attribute StepAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return {};
  StatusOr<ParallelPlan> plan = parsePlan(text);
  if (!plan.ok()) {
    parser.emitError(loc) << plan.status().message();
    return {};
  }
  return parser.getChecked<StepAttr>(loc, parser.getContext(), *plan);
}

void StepAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(printPlan(getPlan()));
  printer << ">";
}

/// What is wrong with a plan whatever the model.
LogicalResult StepAttr::verify(
    function_ref<InFlightDiagnostic()> emitError,
    ParallelPlan plan) { // NOLINT(performance-unnecessary-value-param)
  // A model that has experts has as many as suit.
  PlanSizes sizes;
  bool hasExperts = plan.ep > 1 || plan.expertTp != 0;
  sizes.experts = hasExperts ? plan.ep : 0;
  for (const BrokenRule &rule : brokenRules(plan, sizes))
    return emitError() << "S" << rule.number << ": " << rule.text;
  return success();
}

LogicalResult PlanDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != stepAttrName || !isa<ModuleOp>(op))
    return op->emitOpError()
           << "the plan dialect has one attribute, " << stepAttrName
           << " of a module, not " << attribute.getName();
  if (!isa<StepAttr>(attribute.getValue()))
    return op->emitOpError() << "`" << stepAttrName << "` must be a #plan.step";
  return success();
}

ParallelPlan plan::planOf(ModuleOp module) {
  if (auto attribute = module->getAttrOfType<StepAttr>(stepAttrName))
    return attribute.getPlan();
  ParallelPlan none;
  none.bucketBytes = 0;
  return none;
}

void plan::setPlan(ModuleOp module, const ParallelPlan &plan) {
  module->setAttr(stepAttrName, StepAttr::get(module.getContext(), plan));
}
