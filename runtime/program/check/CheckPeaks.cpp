//===- CheckPeaks.cpp - Checks of what a program says it needs ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the peak of every role again, from its buffers alone.
///
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/Peak.h"

#include <set>

using namespace hocket;

void hocket::checkMemoryPlan(const program::Program &program, int role,
                             FaultList &faults) {
  const program::MemoryPlan &plan = program.roles(role).memory();
  std::string place = ProgramPlace{program, role}.text() + ", memory plan";
  RolePeak peak = peakOf(program.roles(role));
  constexpr uint64_t page = 4096;
  uint64_t most = checkedAlign(peak.arenaBytes, page).value_or(~uint64_t(0));
  if (plan.arena_bytes() > most)
    faults.add(ProgramRule::Peak, place,
               formatText("the arena has %llu bytes, the buffers end at %llu",
                          wide(plan.arena_bytes()), wide(peak.arenaBytes)));
  if (plan.lower_bound_bytes() > plan.arena_bytes())
    faults.add(ProgramRule::Peak, place,
               formatText("the lower bound of %llu bytes is above the arena's "
                          "%llu",
                          wide(plan.lower_bound_bytes()),
                          wide(plan.arena_bytes())));
  std::map<std::string, uint64_t> stated;
  for (const auto &kind : plan.at_peak())
    stated[kind.name()] += kind.bytes();
  for (const auto &[name, bytes] : peak.byKind)
    if (uint64_t said = stated[name]; said != bytes)
      faults.add(ProgramRule::Peak, place,
                 formatText("states %llu bytes of %s at the peak, the buffers "
                            "have %llu",
                            wide(said), name.c_str(), wide(bytes)));
  for (const auto &[name, bytes] : stated)
    if (bytes > 0 && !peak.byKind.count(name))
      faults.add(ProgramRule::Peak, place,
                 formatText("states %llu bytes of %s at the peak, where none "
                            "live",
                            wide(bytes), name.c_str()));
}

void hocket::checkPeaks(const program::Program &program, FaultList &faults) {
  std::map<uint32_t, uint64_t> arenas;
  for (const program::Role &role : program.roles())
    for (uint32_t rank : role.ranks())
      arenas[rank] = role.memory().arena_bytes();
  size_t ranks = arenas.size();
  for (const auto &peak : program.certificate().peaks()) {
    auto found = arenas.find(peak.rank());
    if (peak.memory() != "arena" || found == arenas.end()) {
      faults.add(ProgramRule::Peak, "certificate",
                 formatText("states a peak of memory '%s' of rank %u %s",
                            peak.memory().c_str(), peak.rank(),
                            peak.rank() < ranks ? "twice, or of no known kind"
                                                : "which has no role"));
      continue;
    }
    if (peak.bytes() != found->second)
      faults.add(ProgramRule::Peak, "certificate",
                 formatText("rank %u: peak is %llu bytes, the arena has %llu",
                            peak.rank(), wide(peak.bytes()),
                            wide(found->second)));
    arenas.erase(found);
  }
  if (!arenas.empty())
    faults.add(ProgramRule::Peak, "certificate",
               formatText("states no peak of rank %u", arenas.begin()->first));
}
