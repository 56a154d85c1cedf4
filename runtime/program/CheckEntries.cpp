//===- CheckEntries.cpp - Checks of entries and of first uses -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Format.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/InstructionOperands.h"

#include <set>

using namespace hocket;
using program::Role;

namespace {
/// What a sequence expects of non-persistent buffers, and what it leaves.
struct SequenceSummary {
  struct Need {
    uint32_t buffer;
    int instruction;
    bool onlyAfterFirstMicrobatch;
  };
  std::vector<Need> needs;        ///< Read before the sequence wrote them.
  std::vector<uint32_t> provides; ///< Written, in any way.
};

class EntryChecker {
public:
  EntryChecker(const program::Program &program, int role, FaultList &faults)
      : program(program), role(role), r(program.roles(role)), faults(faults) {
    for (const program::Sequence &sequence : r.sequences())
      summaries.push_back(summarize(sequence));
  }

  void run() {
    std::set<std::string> names;
    for (const program::Entry &entry : r.entries()) {
      if (entry.name().empty() || !names.insert(entry.name()).second)
        add(entry, "entry names must be unique and not empty");
      check(entry);
    }
  }

private:
  void add(const program::Entry &entry, const std::string &what) {
    faults.add(ProgramPlace{program, role}.text() + ", entry '" + entry.name() +
                   "'",
               what);
  }

  SequenceSummary summarize(const program::Sequence &sequence) const {
    SequenceSummary summary;
    std::vector<bool> written(size_t(r.buffers_size()));
    for (int i = 0; i < sequence.instructions_size(); ++i) {
      auto operands = operandsOf(sequence.instructions(i), program);
      for (const InstructionOperand &operand : operands) {
        bool always = operand.access == OperandAccess::Read ||
                      operand.access == OperandAccess::ReadWrite;
        bool later = operand.access == OperandAccess::WriteThenAddPerMicrobatch;
        if ((always || later) && !written[operand.buffer] &&
            !r.buffers(int(operand.buffer)).persistent())
          summary.needs.push_back({operand.buffer, i, later});
      }
      for (const InstructionOperand &operand : operands)
        if (operand.access != OperandAccess::Read && !written[operand.buffer]) {
          written[operand.buffer] = true;
          summary.provides.push_back(operand.buffer);
        }
    }
    return summary;
  }

  void check(const program::Entry &entry) {
    // (buffer, slot) that some earlier run of the entry has written.
    std::set<std::pair<uint32_t, uint32_t>> written;
    for (int i = 0; i < entry.runs_size() && !faults.full(); ++i) {
      const program::Entry::Run &run = entry.runs(i);
      if (run.sequence() >= uint32_t(r.sequences_size())) {
        add(entry, formatText("run %d names sequence %u, there are %d", i,
                              run.sequence(), r.sequences_size()));
        return;
      }
      if (run.microbatch() >= program.training().microbatches())
        add(entry,
            formatText("run %d names microbatch %u, there are %llu", i,
                       run.microbatch(),
                       (unsigned long long)program.training().microbatches()));
      if (!checkRun(entry, run, written))
        return;
    }
  }

  /// A buffer with one copy has slot 0 whatever the run's slot.
  uint32_t slotOf(uint32_t buffer, const program::Entry::Run &run) const {
    return r.buffers(int(buffer)).slots() > 1 ? run.slot() : 0;
  }

  bool checkRun(const program::Entry &entry, const program::Entry::Run &run,
                std::set<std::pair<uint32_t, uint32_t>> &written) {
    const SequenceSummary &summary = summaries[run.sequence()];
    for (const SequenceSummary::Need &need : summary.needs) {
      if (need.onlyAfterFirstMicrobatch && run.microbatch() == 0)
        continue;
      if (written.count({need.buffer, slotOf(need.buffer, run)}))
        continue;
      ProgramPlace place{program, role, int(run.sequence()), need.instruction};
      faults.add(place.text(),
                 formatText("reads buffer %u '%s', which nothing has written "
                            "before in entry '%s'",
                            need.buffer,
                            r.buffers(int(need.buffer)).name().c_str(),
                            entry.name().c_str()));
      return false;
    }
    for (uint32_t buffer : summary.provides) {
      const program::Buffer &b = r.buffers(int(buffer));
      if (b.slots() > 1 && run.slot() >= b.slots()) {
        add(entry, formatText("a run uses slot %u of buffer %u '%s', which "
                              "has %u",
                              run.slot(), buffer, b.name().c_str(), b.slots()));
        return false;
      }
      written.insert({buffer, slotOf(buffer, run)});
    }
    return checkSlots(entry, run);
  }

  /// Every slot a run selects must exist, also in buffers it only reads.
  bool checkSlots(const program::Entry &entry, const program::Entry::Run &run) {
    if (run.slot() == 0)
      return true;
    const program::Sequence &sequence = r.sequences(int(run.sequence()));
    for (const auto &instruction : sequence.instructions())
      for (const auto &operand : operandsOf(instruction, program)) {
        const program::Buffer &b = r.buffers(int(operand.buffer));
        if (b.slots() > 1 && run.slot() >= b.slots()) {
          add(entry,
              formatText("a run uses slot %u of buffer %u '%s', which has %u",
                         run.slot(), operand.buffer, b.name().c_str(),
                         b.slots()));
          return false;
        }
      }
    return true;
  }

  const program::Program &program;
  int role;
  const Role &r;
  FaultList &faults;
  std::vector<SequenceSummary> summaries;
};
} // namespace

void hocket::checkEntries(const program::Program &program, int role,
                          FaultList &faults) {
  EntryChecker(program, role, faults).run();
}
