//===- Certificate.cpp - That all ranks end every entry -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/certificate/Certificate.h"

#include "runtime/program/certificate/Exchange.h"

#include <algorithm>

using namespace hocket;

void hocket::checkCertificate(const program::Program &program,
                              FaultList &faults) {
  for (int role = 0; role < program.roles_size() && !faults.full(); ++role)
    checkStreams(program, role, faults);
  RankClasses classes(program);
  for (const ProgramEntry &entry : programEntriesOf(program)) {
    EntryView view{program, classes, entry};
    size_t before = faults.count();
    Partners partners = matchTransfers(view, faults);
    checkCollectiveOrder(view, faults);
    if (faults.count() == before)
      checkProgress(view, partners, faults);
    if (faults.full())
      return;
  }
}

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

static uint64_t bytesGiven(const program::Role &role, uint32_t buffer) {
  return role.buffers(int(buffer)).bytes();
}

/// Adds what the ranks of a class do.
static void addClass(const EntryView &view, uint32_t c, EntrySummary &summary,
                     std::map<std::string, uint64_t> &calls) {
  const program::Role &role = view.role(view.classes.roleOf(c));
  const RoleSteps &steps = view.stepsOfClass(c);
  uint64_t ranks = view.classes.size(c);
  summary.instructions = std::max(summary.instructions, steps.instructions);
  for (const EntryStep &step : steps.steps) {
    const program::Instruction &instruction = instructionOf(role, step);
    for (const auto &part : instruction.transfer().parts())
      if (part.send()) {
        summary.messages += ranks;
        summary.messageBytes += ranks * bytesGiven(role, part.buffer());
      }
    if (!instruction.has_collective())
      continue;
    const program::Collective &collective = instruction.collective();
    const std::string &name =
        view.program.groups(int(collective.group())).name();
    calls[name] += ranks;
    uint64_t bytes = bytesGiven(role, collective.from());
    for (const auto &part : collective.others())
      bytes += bytesGiven(role, part.from());
    summary.collectives[name].bytes += ranks * bytes;
  }
}

std::vector<EntrySummary>
hocket::summarizeEntries(const program::Program &program) {
  RankClasses classes(program);
  std::vector<EntrySummary> result;
  for (const ProgramEntry &entry : programEntriesOf(program)) {
    EntryView view{program, classes, entry};
    EntrySummary &summary = result.emplace_back();
    summary.name = entry.name;
    std::map<std::string, uint64_t> calls; // Of all members.
    for (uint32_t c = 0; c < classes.count(); ++c)
      addClass(view, c, summary, calls);
    for (const program::Group &group : program.groups())
      if (uint64_t all = calls[group.name()])
        summary.collectives[group.name()].calls =
            all / uint64_t(group.members(0).ranks_size());
    FaultList none(1);
    Partners partners = matchTransfers(view, none);
    summary.chain = checkProgress(view, partners, none);
  }
  return result;
}
