//===- MemoryUse.cpp - Which bytes live when ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/MemoryUse.h"

#include "runtime/program/BufferCopies.h"
#include "runtime/program/FirstRuns.h"
#include "runtime/program/InstructionOperands.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace hocket;

namespace {

/// The life of one value.
struct Life {
  double begin = 0, end = -1; ///< end < begin: none.
};

/// A change of the bytes of a kind.
struct Change {
  double time = 0;
  size_t kind = 0;
  int64_t bytes = 0;
};

/// Follows the values of one role through the runs of an entry.
class ValueLives {
public:
  ValueLives(const program::Program &program, const program::Role &role,
             const program::Entry &entry)
      : program(program), role(role), entry(entry),
        firstRuns(firstRunsOf(entry)), operands(size_t(role.sequences_size())) {
    for (const auto &buffer : role.buffers()) {
      first.push_back(lives.size());
      lives.resize(lives.size() + copiesOf(buffer));
      auto [kind, isNew] = kindOf.try_emplace(buffer.kind(), kinds.size());
      if (isNew)
        kinds.push_back(buffer.kind());
      numbers.push_back(kind->second);
    }
    for (int s = 0; s < role.sequences_size(); ++s)
      operands[size_t(s)].resize(size_t(role.sequences(s).instructions_size()));
  }

  /// Spans come in the order in which they were issued.
  void visit(const PredictedSpan &span) {
    const std::vector<InstructionOperand> &uses = operandsAt(span);
    for (const InstructionOperand &use : uses) {
      if (role.buffers(int(use.buffer)).persistent())
        continue;
      Life &life = lifeOf(use.buffer, entry.runs(int(span.run)));
      if (isNewValue(uses, use, span) || life.end < life.begin) {
        close(use.buffer, life);
        life = {span.begin, span.end};
      }
      life.end = std::max(life.end, span.end);
    }
  }

  std::vector<Change> finish() {
    for (uint32_t b = 0; b < uint32_t(role.buffers_size()); ++b)
      for (uint32_t slot = 0; slot < slotsOf(b); ++slot)
        close(b, lives[first[b] + slot]);
    std::sort(changes.begin(), changes.end(),
              [](const Change &a, const Change &b) {
                // What ends makes room for what begins.
                return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
              });
    return std::move(changes);
  }

  std::vector<uint64_t> persistentBytes() const {
    std::vector<uint64_t> bytes(kinds.size());
    for (int b = 0; b < role.buffers_size(); ++b)
      if (role.buffers(b).persistent())
        bytes[numbers[size_t(b)]] +=
            role.buffers(b).bytes() * slotsOf(uint32_t(b));
    return bytes;
  }

  std::vector<std::string> kinds;

private:
  uint32_t slotsOf(uint32_t buffer) const {
    return copiesOf(role.buffers(int(buffer)));
  }
  Life &lifeOf(uint32_t buffer, const program::Entry::Run &run) {
    return lives[first[buffer] + copyOf(role.buffers(int(buffer)), run)];
  }

  const std::vector<InstructionOperand> &operandsAt(const PredictedSpan &span) {
    auto &known = operands[span.sequence][span.instruction];
    if (known.empty())
      known = operandsOf(role.sequences(int(span.sequence))
                             .instructions(int(span.instruction)),
                         program);
    return known;
  }

  /// Whether a use overwrites all of a buffer, and nothing else of the
  /// instruction needs what was there.
  bool isNewValue(const std::vector<InstructionOperand> &uses,
                  const InstructionOperand &use,
                  const PredictedSpan &span) const {
    return std::all_of(uses.begin(), uses.end(),
                       [&](const InstructionOperand &other) {
                         return other.buffer != use.buffer ||
                                other.access == OperandAccess::Write ||
                                (other.access == OperandAccess::WriteThenAdd &&
                                 firstRuns[span.run]);
                       });
  }

  void close(uint32_t buffer, Life &life) {
    if (life.end < life.begin)
      return;
    auto bytes = int64_t(role.buffers(int(buffer)).bytes());
    changes.push_back({life.begin, numbers[buffer], bytes});
    changes.push_back({life.end, numbers[buffer], -bytes});
    life = {};
  }

  const program::Program &program;
  const program::Role &role;
  const program::Entry &entry;
  std::vector<bool> firstRuns; ///< By run of the entry.
  std::map<std::string, size_t> kindOf;
  std::vector<size_t> numbers; ///< The kind of each buffer.
  std::vector<size_t> first;   ///< Each buffer's first slot in `lives`.
  std::vector<Life> lives;
  std::vector<std::vector<std::vector<InstructionOperand>>> operands;
  std::vector<Change> changes;
};

} // namespace

MemoryUse hocket::predictMemory(const program::Program &program, uint32_t role,
                                const program::Entry &entry,
                                std::vector<PredictedSpan> spans,
                                size_t points) {
  std::sort(spans.begin(), spans.end(),
            [](const PredictedSpan &a, const PredictedSpan &b) {
              return a.run != b.run ? a.run < b.run
                                    : a.instruction < b.instruction;
            });
  ValueLives lives(program, program.roles(int(role)), entry);
  for (const PredictedSpan &span : spans)
    lives.visit(span);
  MemoryUse use;
  std::vector<Change> changes = lives.finish();
  use.kinds = lives.kinds;
  std::vector<uint64_t> now = lives.persistentBytes();
  use.times.push_back(0);
  use.bytes.push_back(now);
  double end = changes.empty() ? 0 : changes.back().time;
  double stretch = end / double(std::max<size_t>(points, 2) - 1);
  uint64_t total = std::accumulate(now.begin(), now.end(), uint64_t(0));
  uint64_t most = total;
  for (size_t i = 0; i < changes.size(); ++i) {
    now[changes[i].kind] += uint64_t(changes[i].bytes);
    total += uint64_t(changes[i].bytes);
    if (i + 1 < changes.size() && changes[i + 1].time == changes[i].time)
      continue;
    if (changes[i].time >= double(use.times.size()) * stretch) {
      use.times.push_back(changes[i].time);
      use.bytes.push_back(now);
      most = total;
    } else if (total > most) {
      use.times.back() = changes[i].time;
      use.bytes.back() = now;
      most = total;
    }
  }
  return use;
}
