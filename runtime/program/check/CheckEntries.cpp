//===- CheckEntries.cpp - Checks of what entries read and overwrite -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs every entry without data: of each byte of the arena it is known whose
/// value it holds. A buffer may be read only while it owns all its bytes, that
/// is, after it was written and before a buffer that shares bytes was. This
/// holds whatever lifetimes the file declares, for every order of runs.
///
/// A run reads what its own microbatch has written, but for sums over
/// microbatches, and for sequences that run once in an entry and may read
/// such sums. A sum is set by the first run of one sequence; a run that sets it
/// again would lose what others have added.
///
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/program/BufferCopies.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/FirstRuns.h"
#include "runtime/program/InstructionOperands.h"

#include <map>
#include <optional>
#include <set>

using namespace hocket;
using program::Buffer;
using program::Role;

namespace {

/// One copy of a buffer.
struct BufferCopy {
  uint32_t buffer = 0, slot = 0;
  bool operator==(const BufferCopy &) const = default;
};

/// Which copy wrote each range of the arena last.
class Ownership {
public:
  void write(BufferCopy owner, uint64_t begin, uint64_t end) {
    auto at = ranges.upper_bound(begin);
    if (at != ranges.begin() && std::prev(at)->second.end > begin)
      --at;
    while (at != ranges.end() && at->first < end) {
      Part part = at->second;
      uint64_t start = at->first;
      at = ranges.erase(at);
      // What is left of a range on either side no longer holds a whole copy,
      // but still says who owned it.
      if (start < begin)
        ranges[start] = {begin, part.owner};
      if (part.end > end)
        at = ranges.emplace(end, Part{part.end, part.owner}).first;
    }
    ranges[begin] = {end, owner};
  }

  bool holds(BufferCopy owner, uint64_t begin, uint64_t end) const {
    auto at = ranges.find(begin);
    return at != ranges.end() && at->second.owner == owner &&
           at->second.end == end;
  }

  /// Some other copy that owns bytes of the range, if one does.
  std::optional<BufferCopy> intruder(BufferCopy owner, uint64_t begin,
                                     uint64_t end) const {
    auto at = ranges.upper_bound(begin);
    if (at != ranges.begin() && std::prev(at)->second.end > begin)
      --at;
    for (; at != ranges.end() && at->first < end; ++at)
      if (!(at->second.owner == owner))
        return at->second.owner;
    return std::nullopt;
  }

private:
  struct Part {
    uint64_t end;
    BufferCopy owner;
  };
  std::map<uint64_t, Part> ranges; // begin -> part, disjoint
};

class EntryChecker {
public:
  EntryChecker(const program::Program &program, int role, FaultList &faults)
      : program(program), role(role), r(program.roles(role)), faults(faults),
        sums(size_t(r.buffers_size())) {
    for (const program::Sequence &sequence : r.sequences()) {
      operands.emplace_back();
      for (const program::Instruction &instruction : sequence.instructions())
        operands.back().push_back(operandsOf(instruction, program));
      for (const auto &all : operands.back())
        for (const InstructionOperand &operand : all)
          if (operand.access == OperandAccess::WriteThenAdd)
            sums[operand.buffer] = true;
    }
  }

  void run() {
    std::set<std::string> names;
    for (const program::Entry &entry : r.entries()) {
      if (entry.name().empty() || !names.insert(entry.name()).second)
        add(entry, "entry names must be unique and not empty");
      check(entry);
    }
    checkAllRun();
  }

private:
  void add(const program::Entry &entry, const std::string &what) {
    faults.add(ProgramRule::Entries,
               ProgramPlace{program, role}.text() + ", entry '" + entry.name() +
                   "'",
               what);
  }

  const Buffer &buffer(uint32_t index) const { return r.buffers(int(index)); }

  /// What no entry runs was meant to be run by one.
  void checkAllRun() {
    std::set<uint32_t> run;
    for (const program::Entry &entry : r.entries())
      for (const program::Entry::Run &of : entry.runs())
        run.insert(of.sequence());
    for (int s = 0; s < r.sequences_size(); ++s)
      if (!run.count(uint32_t(s)))
        faults.add(ProgramRule::AllRun, ProgramPlace{program, role, s}.text(),
                   "no entry runs this sequence");
  }

  void check(const program::Entry &entry) {
    ownership = Ownership();
    begun.assign(size_t(r.buffers_size()), false);
    firstRuns = firstRunsOf(entry);
    writers.clear();
    runsOf.assign(size_t(r.sequences_size()), 0);
    for (const program::Entry::Run &run : entry.runs())
      if (run.sequence() < runsOf.size())
        ++runsOf[run.sequence()];
    for (int b = 0; b < r.buffers_size(); ++b)
      if (r.buffers(b).persistent())
        for (uint32_t slot = 0; slot < copiesOf(r.buffers(b)); ++slot)
          write({uint32_t(b), slot});
    for (int i = 0; i < entry.runs_size(); ++i) {
      const program::Entry::Run &run = entry.runs(i);
      if (run.sequence() >= uint32_t(r.sequences_size()))
        return add(entry, formatText("run %d names sequence %u, there are %d",
                                     i, run.sequence(), r.sequences_size()));
      if (run.microbatch() >= program.training().microbatches())
        return add(
            entry,
            formatText("run %d names microbatch %u, there are "
                       "%llu",
                       i, run.microbatch(),
                       (unsigned long long)program.training().microbatches()));
      for (size_t at = 0; at < operands[run.sequence()].size(); ++at)
        if (!checkInstruction(entry, i, at))
          return;
    }
  }

  uint64_t begin(BufferCopy copy) const {
    const Buffer &b = buffer(copy.buffer);
    return b.offset() + copy.slot * b.slot_stride();
  }
  uint64_t end(BufferCopy copy) const {
    return begin(copy) + buffer(copy.buffer).bytes();
  }
  void write(BufferCopy copy) { ownership.write(copy, begin(copy), end(copy)); }
  bool holds(BufferCopy copy) const {
    return ownership.holds(copy, begin(copy), end(copy));
  }

  bool reads(OperandAccess access, int run) const {
    return access == OperandAccess::Read ||
           access == OperandAccess::ReadWrite ||
           (access == OperandAccess::WriteThenAdd && !firstRuns[size_t(run)]);
  }

  bool checkInstruction(const program::Entry &entry, int number, size_t at) {
    const program::Entry::Run &run = entry.runs(number);
    const auto &all = operands[run.sequence()][at];
    for (const InstructionOperand &operand : all) {
      const Buffer &b = buffer(operand.buffer);
      if (hocket::copyOf(b, run) >= copiesOf(b)) {
        add(entry, formatText("a run uses slot %u of buffer %u '%s', which "
                              "has %u",
                              run.slot(), operand.buffer, b.name().c_str(),
                              b.slots()));
        return false;
      }
      if (!checkSum(entry, number, at, operand))
        return false;
      if (!reads(operand.access, number))
        continue;
      BufferCopy copy = copyOf(operand, run);
      if (!holds(copy)) {
        addUnwritten(entry, run, at, copy);
        return false;
      }
      if (isOfAnother(copy, run)) {
        addOther(entry, run, at, copy);
        return false;
      }
    }
    for (const InstructionOperand &operand : all) {
      BufferCopy copy = copyOf(operand, run);
      if (operand.access == OperandAccess::Read)
        continue;
      writers[{copy.buffer, copy.slot}] = run.microbatch();
      if (!holds(copy))
        write(copy);
    }
    return true;
  }

  /// What adds to a sum wants it begun, what sets it not.
  bool checkSum(const program::Entry &entry, int number, size_t at,
                const InstructionOperand &operand) {
    if (!sums[operand.buffer] ||
        (operand.access != OperandAccess::WriteThenAdd &&
         operand.access != OperandAccess::ReadWrite))
      return true;
    bool adds = reads(operand.access, number), isBegun = begun[operand.buffer];
    begun[operand.buffer] = true;
    if (adds == isBegun)
      return true;
    const program::Entry::Run &run = entry.runs(number);
    faults.add(ProgramRule::SumsSetOnce,
               ProgramPlace{program, role, int(run.sequence()), int(at)}.text(),
               formatText(adds ? "adds to buffer %u '%s' in microbatch %u, "
                                 "which nothing has set in entry '%s'"
                               : "sets buffer %u '%s' in microbatch %u, to "
                                 "which others have added in entry '%s'",
                          operand.buffer, buffer(operand.buffer).name().c_str(),
                          run.microbatch(), entry.name().c_str()));
    return false;
  }

  BufferCopy copyOf(const InstructionOperand &operand,
                    const program::Entry::Run &run) const {
    return {operand.buffer, hocket::copyOf(buffer(operand.buffer), run)};
  }

  /// Whether a copy holds what another microbatch has written, and should not.
  bool isOfAnother(BufferCopy copy, const program::Entry::Run &run) const {
    auto writer = writers.find({copy.buffer, copy.slot});
    return writer != writers.end() && writer->second != run.microbatch() &&
           !buffer(copy.buffer).persistent() && !sums[copy.buffer] &&
           runsOf[run.sequence()] > 1;
  }

  void addOther(const program::Entry &entry, const program::Entry::Run &run,
                size_t at, BufferCopy copy) {
    faults.add(ProgramRule::ReadsWritten,
               ProgramPlace{program, role, int(run.sequence()), int(at)}.text(),
               formatText("reads buffer %u '%s' for microbatch %u, which holds "
                          "that of microbatch %u in entry '%s'",
                          copy.buffer, buffer(copy.buffer).name().c_str(),
                          run.microbatch(),
                          writers.at({copy.buffer, copy.slot}),
                          entry.name().c_str()));
  }

  void addUnwritten(const program::Entry &entry, const program::Entry::Run &run,
                    size_t at, BufferCopy copy) {
    ProgramPlace place{program, role, int(run.sequence()), int(at)};
    std::string what = formatText("reads buffer %u '%s', which ", copy.buffer,
                                  buffer(copy.buffer).name().c_str());
    auto other = ownership.intruder(copy, begin(copy), end(copy));
    if (other)
      what += formatText("buffer %u '%s' has overwritten", other->buffer,
                         buffer(other->buffer).name().c_str());
    else
      what += "nothing has written before";
    faults.add(ProgramRule::ReadsWritten, place.text(),
               what + " in entry '" + entry.name() + "'");
  }

  const program::Program &program;
  int role;
  const Role &r;
  FaultList &faults;
  /// By sequence and instruction.
  std::vector<std::vector<std::vector<InstructionOperand>>> operands;
  std::vector<bool> sums; ///< By buffer: over microbatches.
  Ownership ownership;
  std::vector<bool> begun;     ///< By buffer: a sum that has been set.
  std::vector<bool> firstRuns; ///< By run of the entry.
  /// The microbatch that wrote a copy last.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> writers;
  std::vector<int> runsOf; ///< By sequence, in the entry.
};
} // namespace

void hocket::checkEntries(const program::Program &program, int role,
                          FaultList &faults) {
  EntryChecker(program, role, faults).run();
}
