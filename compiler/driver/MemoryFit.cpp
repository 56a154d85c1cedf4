//===- MemoryFit.cpp - Recomputes until the arena fits --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/MemoryFit.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace hocket;

/// Compiles after the first.
static constexpr int mostAttempts = 9;

std::vector<RecomputeNote> hocket::readRecomputeNotes(ModuleOp module) {
  std::vector<RecomputeNote> notes;
  auto all = module->getAttrOfType<ArrayAttr>("pipe.recompute");
  if (!all)
    return notes;
  for (auto entry : all.getAsRange<DictionaryAttr>()) {
    auto count = [&](StringRef name) {
      auto value = entry.getAs<IntegerAttr>(name);
      return value ? value.getInt() : 0;
    };
    auto number = [&](StringRef name) {
      auto value = entry.getAs<FloatAttr>(name);
      return value ? value.getValueAsDouble() : 0;
    };
    notes.push_back({count("residuals"), count("recomputed"),
                     count("saved_bytes"), count("planned_bytes"),
                     number("step_seconds"), number("seconds"),
                     number("least_seconds")});
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
    // What was freed may not have been at the peak: soon far, then all the way.
    ++rank.failures;
    if (rank.fits < 0 && rank.failures >= 2)
      measured = std::max(
          measured, rank.failures == 2 ? rank.fixed + note.savedBytes : budget);
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
  if (memory.size() != notes.size() || notes.empty())
    return false;
  if (ranks.empty()) { // Everything was saved.
    bool fits = true;
    for (size_t i = 0; i < notes.size(); ++i) {
      fits &= memory[i].arena <= budget;
      int64_t saved = notes[i].savedBytes;
      ranks.push_back({std::max<int64_t>(0, memory[i].arena - saved)});
      leastFixed.push_back(memory[i].withResiduals - saved);
    }
    for (const Rank &rank : ranks)
      next.push_back(rank.fixed);
    return !fits;
  }
  bool more = false;
  for (size_t i = 0; i < notes.size(); ++i) {
    if (!ranks[i].done)
      noteRank(ranks[i], memory[i].arena, notes[i]);
    more |= !ranks[i].done;
  }
  bool last = ++attempts >= mostAttempts;
  bool changed = false;
  for (size_t i = 0; i < ranks.size(); ++i) {
    int64_t chosen = ranks[i].fixed;
    if ((ranks[i].done || last || !more) && ranks[i].fits >= 0)
      chosen = ranks[i].fits;
    changed |= chosen != next[i];
    next[i] = chosen;
  }
  // The last compile is of what is chosen.
  return changed && attempts <= mostAttempts;
}
