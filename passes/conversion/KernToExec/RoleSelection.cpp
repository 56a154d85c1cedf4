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

using kern::FragmentKind;

/// All fragments of a module that has one stage.
static void addWholeFragments(ModuleOp module, RoleFragments &role) {
  // Forward and backward stand side by side: what is saved by one for the other
  // must not overlap with anything between.
  for (FragmentKind kind :
       {FragmentKind::Prepare, FragmentKind::Forward, FragmentKind::Backward,
        FragmentKind::Update, FragmentKind::Evaluate, FragmentKind::Encode,
        FragmentKind::Prefill, FragmentKind::Decode})
    for (auto fragment : module.getOps<kern::FragmentOp>())
      if (fragment.getKind() == kind)
        role.fragments.push_back(fragment);
}

/// What the role's schedules run, each fragment where it first runs.
static void addScheduledFragments(SymbolTable &symbols, RoleFragments &role) {
  std::vector<kern::FragmentOp> prepare, train, evaluate;
  auto listOf = [&](FragmentKind kind) -> auto & {
    switch (kind) {
    case FragmentKind::Prepare:
      return prepare;
    case FragmentKind::Evaluate:
    case FragmentKind::Encode:
    case FragmentKind::Prefill:
    case FragmentKind::Decode:
      return evaluate;
    default:
      return train;
    }
  };
  llvm::DenseSet<Operation *> seen;
  for (kern::ScheduleOp schedule : role.schedules)
    for (auto action : schedule.getActions().getAsRange<kern::ActionAttr>()) {
      auto fragment =
          symbols.lookup<kern::FragmentOp>(action.getFunction().getAttr());
      if (fragment && seen.insert(fragment).second)
        listOf(fragment.getKind()).push_back(fragment);
    }
  for (auto *list : {&prepare, &train, &evaluate})
    llvm::append_range(role.fragments, *list);
}

std::vector<RoleFragments> hocket::kerntoexec::selectRoles(ModuleOp module) {
  SymbolTable symbols(module);
  std::map<int64_t, RoleFragments> roles;
  for (auto schedule : module.getOps<kern::ScheduleOp>())
    roles[int64_t(schedule.getRank())].schedules.push_back(schedule);
  bool isCut = llvm::any_of(
      module.getOps<kern::FragmentOp>(),
      [](kern::FragmentOp fragment) { return bool(fragment.getStage()); });
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
