//===- MemoryFit.cpp - Recomputes until the arena fits --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/MemoryFit.h"

#include "dialects/pipe/IR/Pipe.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace hocket;

/// Compiles after the first.
static constexpr int mostAttempts = 9;

std::vector<RecomputeNote> hocket::readRecomputeNotes(ModuleOp module) {
  std::vector<RecomputeNote> notes;
  for (auto report : module.getOps<step::RecomputeOp>()) {
    auto seconds = [](const llvm::APFloat &value) {
      return value.convertToDouble();
    };
    notes.push_back(
        {static_cast<int64_t>(report.getResiduals()),
         static_cast<int64_t>(report.getRecomputed()),
         static_cast<int64_t>(report.getSavedBytes()),
         static_cast<int64_t>(report.getPlannedBytes()),
         seconds(report.getStepSeconds()), seconds(report.getSeconds()),
         report.getLeastSeconds() ? seconds(*report.getLeastSeconds()) : 0});
  }
  return notes;
}

void MemoryFit::noteRank(Rank &rank, int64_t arena, const RecomputeNote &note) {
  int64_t measured = rank.fixed + arena - note.plannedBytes;
  if (arena > budget) {
    rank.tooLow = std::max(rank.tooLow, rank.fixed);
    // With everything recomputed there is nothing left to try.
    rank.done = note.recomputed == note.residuals;
    measured = std::max(measured, rank.fixed + arena - budget);
    // What was freed may not have been at the peak: soon a little more, then
    // far, then all the way.
    ++rank.failures;
    const int64_t further[] = {0, rank.fixed + budget / 256,
                               rank.fixed + note.savedBytes, budget};
    if (rank.fits < 0)
      measured = std::max(measured, further[std::min(rank.failures - 1, 3)]);
    measured = std::min(measured, std::max(budget, rank.fixed));
  } else {
    rank.fits = rank.fits < 0 ? rank.fixed : std::min(rank.fits, rank.fixed);
    rank.done = note.recomputed == 0 || measured >= rank.fixed;
  }
  if (rank.done)
    return;
  // Between what did not fit and what did.
  bool isBracketed = rank.tooLow >= 0 && rank.fits >= 0;
  if (isBracketed && (measured <= rank.tooLow || measured >= rank.fits))
    measured = rank.tooLow + (rank.fits - rank.tooLow) / 2;
  rank.done = isBracketed && rank.fits - rank.tooLow <= budget / 256;
  rank.fixed = std::max<int64_t>(0, measured);
}

bool MemoryFit::note(const std::vector<RoleMemory> &memory,
                     const std::vector<RecomputeNote> &notes) {
  whole = memory.size() == notes.size();
  if (ranks.empty()) { // Everything was saved.
    bool fits = true;
    for (size_t i = 0; whole && i < notes.size(); ++i) {
      fits &= memory[i].needed() <= budget;
      int64_t saved = notes[i].savedBytes;
      ranks.push_back({std::max<int64_t>(0, memory[i].needed() - saved)});
      leastFixed.push_back(memory[i].withResiduals + memory[i].beside - saved);
      undecided.push_back(i);
    }
    for (const Rank &rank : ranks)
      next.push_back(rank.fixed);
    return !fits;
  }
  for (size_t i = 0; i < undecided.size() && i < memory.size(); ++i)
    noteRank(ranks[undecided[i]], memory[i].needed(), notes[undecided[i]]);
  std::erase_if(undecided, [&](size_t i) { return ranks[i].done; });
  bool more = !undecided.empty() && ++attempts < mostAttempts;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Rank &rank = ranks[i];
    int64_t chosen =
        (rank.done || !more) && rank.fits >= 0 ? rank.fits : rank.fixed;
    whole &= chosen == next[i];
    next[i] = chosen;
  }
  return more;
}

void hocket::keepRanks(ModuleOp module, const std::vector<size_t> &ranks) {
  auto isKept = [&](uint64_t rank) { return llvm::is_contained(ranks, rank); };
  SymbolTable symbols(module);
  auto schedules = llvm::to_vector(module.getOps<pipe::ScheduleOp>());
  for (pipe::ScheduleOp schedule : schedules)
    if (!isKept(schedule.getRank()))
      schedule.erase();
  auto fragments = llvm::to_vector(module.getOps<pipe::FragmentOp>());
  for (pipe::FragmentOp fragment : fragments) {
    if (isKept(fragment.getRank()))
      continue;
    symbols.erase(symbols.lookup(fragment.getFunction()));
    fragment.erase();
  }
}
