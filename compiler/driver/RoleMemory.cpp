//===- RoleMemory.cpp - What each role's arena holds ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/RoleMemory.h"

#include "base/Format.h"
#include "passes/planning/memory/BufferAlignment.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace hocket;

/// Kinds that are named.
static constexpr size_t mostOwners = 4;

/// What stands in another buffer's bytes has none of its own.
static int64_t bytesOf(exec::BufferOp buffer) {
  if (buffer.getWithin())
    return 0;
  auto type = cast<MemRefType>(buffer.getResult().getType());
  int64_t bytes =
      type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  return planning::alignedBufferBytes(bytes) *
         static_cast<int64_t>(buffer.getSlots());
}

namespace {

/// Bytes that live at one position.
struct Moment {
  int64_t all = 0, residuals = 0;
};

} // namespace

/// By position, where it changes.
static std::map<int64_t, Moment> momentsOf(exec::RoleOp role) {
  std::map<int64_t, Moment> changes;
  for (auto buffer : role.getOps<exec::BufferOp>()) {
    int64_t bytes = bytesOf(buffer);
    bool isResidual = buffer.getKind() == exec::MemoryKind::Activations;
    int64_t first = buffer.getPersistent()
                        ? 0
                        : static_cast<int64_t>(buffer.getFirst().value_or(0));
    changes[first].all += bytes;
    changes[first].residuals += isResidual ? bytes : 0;
    if (buffer.getPersistent())
      continue;
    Moment &end =
        changes[static_cast<int64_t>(buffer.getLast().value_or(0)) + 1];
    end.all -= bytes;
    end.residuals -= isResidual ? bytes : 0;
  }
  Moment now;
  for (auto &[position, moment] : changes) {
    moment.all = now.all += moment.all;
    moment.residuals = now.residuals += moment.residuals;
  }
  return changes;
}

static void addOwners(exec::RoleOp role, int64_t position, RoleMemory &memory) {
  std::map<exec::MemoryKind, int64_t> kinds;
  for (auto buffer : role.getOps<exec::BufferOp>()) {
    auto first = static_cast<int64_t>(buffer.getFirst().value_or(0));
    auto last = static_cast<int64_t>(buffer.getLast().value_or(0));
    if (buffer.getPersistent() || (first <= position && position <= last))
      kinds[buffer.getKind()] += bytesOf(buffer);
  }
  memory.atPeak.assign(kinds.begin(), kinds.end());
  llvm::sort(memory.atPeak, [](const auto &a, const auto &b) {
    return std::pair(-a.second, exec::memoryKindName(a.first)) <
           std::pair(-b.second, exec::memoryKindName(b.first));
  });
}

std::vector<RoleMemory>
hocket::measureMemory(ModuleOp module,
                      llvm::function_ref<int64_t(exec::RoleOp)> besideArena) {
  std::vector<RoleMemory> all;
  for (auto role : module.getOps<exec::RoleOp>()) {
    RoleMemory memory;
    memory.ranks.assign(role.getRanks().begin(), role.getRanks().end());
    memory.arena = static_cast<int64_t>(role.getArenaBytes().value_or(0));
    memory.beside = besideArena ? besideArena(role) : 0;
    int64_t peak = 0;
    Moment most, residuals;
    for (const auto &[position, moment] : momentsOf(role)) {
      if (moment.all > most.all) {
        most = moment;
        peak = position;
      }
      if (moment.residuals > residuals.residuals ||
          (moment.residuals == residuals.residuals &&
           moment.all < residuals.all))
        residuals = moment;
    }
    memory.withResiduals = residuals.all;
    addOwners(role, peak, memory);
    all.push_back(std::move(memory));
  }
  return all;
}

const RoleMemory *hocket::fullestOf(const std::vector<RoleMemory> &memory) {
  auto fullest = llvm::max_element(
      memory, [](const RoleMemory &left, const RoleMemory &right) {
        return left.needed() < right.needed();
      });
  return fullest == memory.end() ? nullptr : &*fullest;
}

int64_t hocket::mostNeeded(const std::vector<RoleMemory> &memory) {
  const RoleMemory *fullest = fullestOf(memory);
  return fullest ? fullest->needed() : 0;
}

std::string hocket::ownersText(const RoleMemory &memory) {
  std::string text;
  size_t count = std::min(memory.atPeak.size(), mostOwners);
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + exec::memoryKindName(memory.atPeak[i].first) +
            " " + formatBytes(static_cast<uint64_t>(memory.atPeak[i].second));
  return text;
}

std::string hocket::ranksText(const std::vector<int64_t> &ranks) {
  if (ranks.empty())
    return "no rank";
  auto text = [](int64_t rank) { return std::to_string(rank); };
  size_t count = ranks.size();
  if (count == 1)
    return "rank " + text(ranks.front());
  bool follows =
      ranks.back() - ranks.front() == static_cast<int64_t>(count) - 1;
  if (count == 2)
    return "ranks " + text(ranks[0]) + " and " + text(ranks[1]);
  if (follows)
    return "ranks " + text(ranks.front()) + " to " + text(ranks.back());
  return "rank " + text(ranks.front()) + " and " + text(int64_t(count) - 1) +
         " more";
}
