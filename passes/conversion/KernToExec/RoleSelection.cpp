//===- RoleSelection.cpp - Which rank runs what ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Reads off the schedules what each pipeline rank runs, and in which order one
// microbatch would.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/RoleConversion.h"

#include <map>

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;

static StringRef kindOf(func::FuncOp function) {
  auto kind = function->getAttrOfType<StringAttr>("kern.fragment");
  return kind ? kind.getValue() : StringRef();
}

/// All fragments of a module that has one stage.
static void addWholeFragments(ModuleOp module, RoleFragments &role) {
  // Forward and backward stand side by side: what is saved by one for the other
  // must not overlap with anything between.
  for (StringRef kind : {"P", "F", "B", "U", "E", "L", "D"})
    for (auto function : module.getOps<func::FuncOp>())
      if (kindOf(function) == kind)
        role.functions.push_back(function);
}

/// What the role's schedules run, each function where it first runs.
static void addScheduledFragments(SymbolTable &symbols, RoleFragments &role) {
  std::vector<func::FuncOp> prepare, train, evaluate;
  llvm::DenseSet<Operation *> seen;
  for (kern::ScheduleOp schedule : role.schedules)
    for (auto action : schedule.getActions().getAsRange<kern::ActionAttr>()) {
      auto function =
          symbols.lookup<func::FuncOp>(action.getFunction().getAttr());
      if (!function || !seen.insert(function).second)
        continue;
      StringRef kind = kindOf(function);
      (kind == "P"                                 ? prepare
       : llvm::is_contained({"E", "L", "D"}, kind) ? evaluate
                                                   : train)
          .push_back(function);
    }
  for (auto *list : {&prepare, &train, &evaluate})
    llvm::append_range(role.functions, *list);
}

std::vector<RoleFragments> hocket::kerntoexec::selectRoles(ModuleOp module) {
  SymbolTable symbols(module);
  std::map<int64_t, RoleFragments> roles;
  for (auto schedule : module.getOps<kern::ScheduleOp>())
    roles[int64_t(schedule.getRank())].schedules.push_back(schedule);
  bool isCut =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function->hasAttr("kern.stage");
      });
  if (!isCut) {
    RoleFragments &only = roles[0];
    addWholeFragments(module, only);
    return {only};
  }
  std::vector<RoleFragments> result;
  for (auto &[rank, role] : roles) {
    role.rank = rank;
    role.isCut = true;
    addScheduledFragments(symbols, role);
    result.push_back(std::move(role));
  }
  return result;
}
