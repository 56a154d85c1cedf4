//===- CheckBatch.cpp - Checks of what ranks take in together -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The global microbatch is [global batch size / microbatches, sequence]. Ranks
/// hold boxes of it; different ones do not overlap, and together they are all
/// of it. So a batch size that nothing computes with is found.
///
//===----------------------------------------------------------------------===//

#include "runtime/base/CheckedMath.h"
#include "runtime/base/Format.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/HostOutputs.h"
#include "runtime/program/RankPlace.h"

#include <map>
#include <set>
#include <tuple>

using namespace hocket;
using program::Host;
using program::Role;

namespace {

/// Rows [row, row + rows) and columns likewise.
struct BatchBox {
  int64_t row, column;
  uint64_t rows, columns;
  auto operator<=>(const BatchBox &) const = default;
};

uint64_t elementsOf(const Role &role, const Host &host) {
  return checkedProduct(role.buffers(int(host.buffer())).shape()).value_or(0);
}

bool isBatch(const program::Instruction &instruction) {
  const Host &host = instruction.host();
  return instruction.has_host() && host.direction() == Host::INPUT &&
         (host.name() == "tokens" || host.name() == "labels");
}

class BatchChecker {
public:
  BatchChecker(const program::Program &program, FaultList &faults)
      : program(program), faults(faults), places(program),
        batch(program.training().global_batch_size() /
              program.training().microbatches()),
        sequence(program.model().sequence_length()) {}

  void run() {
    for (int role = 0; role < program.roles_size() && !faults.full(); ++role)
      for (const program::Entry &entry : program.roles(role).entries())
        collect(role, entry);
    for (const auto &[of, found] : boxes)
      if (std::string fault = coverFault(found); !fault.empty())
        faults.add(ProgramRule::Batch,
                   "entry '" + of.first + "', input '" + of.second + "'",
                   fault);
  }

private:
  void collect(int role, const program::Entry &entry) {
    const Role &r = program.roles(role);
    std::map<uint32_t, std::vector<uint32_t>> microbatches; // by sequence
    for (const program::Entry::Run &run : entry.runs())
      microbatches[run.sequence()].push_back(run.microbatch());
    for (const auto &[index, runs] : microbatches) {
      checkOfEachLabel({program, role, int(index)});
      bool takesIn = false;
      for (const program::Instruction &instruction :
           r.sequences(int(index)).instructions())
        if (isBatch(instruction)) {
          takesIn = true;
          addBoxes(role, entry.name(), instruction.host());
        }
      if (takesIn && entry.name() == "train_step")
        checkMicrobatches({program, role, int(index)}, runs);
    }
  }

  /// A number for each label that the same run has taken in.
  void checkOfEachLabel(const ProgramPlace &place) {
    const Role &r = program.roles(place.role);
    uint64_t labels = 0;
    for (const program::Instruction &instruction :
         r.sequences(place.sequence).instructions()) {
      if (isBatch(instruction) && instruction.host().name() == "labels")
        labels = elementsOf(r, instruction.host());
      if (!instruction.has_host() || !isOfEachLabel(instruction.host().name()))
        continue;
      const std::string &name = instruction.host().name();
      uint64_t has = elementsOf(r, instruction.host());
      bool fits = isNumberOfEachLabel(name)
                      ? has == labels
                      : labels > 0 && has > 0 && has % labels == 0;
      if (!fits)
        faults.add(ProgramRule::Batch, place.text(),
                   formatText("gives %llu numbers '%s' of %llu labels",
                              wide(has), name.c_str(), wide(labels)));
    }
  }

  /// Each once.
  void checkMicrobatches(const ProgramPlace &place,
                         const std::vector<uint32_t> &runs) {
    std::set<uint32_t> distinct(runs.begin(), runs.end());
    if (distinct.size() != runs.size() ||
        runs.size() != program.training().microbatches())
      faults.add(ProgramRule::Batch, place.text(),
                 formatText("takes in %zu microbatches in %zu runs of a step "
                            "of %llu",
                            distinct.size(), runs.size(),
                            wide(program.training().microbatches())));
  }

  void addBoxes(int role, const std::string &entry, const Host &host) {
    auto &found = boxes[{entry, host.name()}];
    if (host.shards().empty()) {
      checkWhole(role, host);
      found.insert({0, 0, batch, sequence});
      return;
    }
    for (uint32_t rank : program.roles(role).ranks())
      for (const Host::Shard &shard : host.shards())
        found.insert({placeOf(shard.start(0), rank),
                      placeOf(shard.start(1), rank), shard.size(0),
                      shard.size(1)});
  }

  /// Without shards a rank has the whole microbatch.
  void checkWhole(int role, const Host &host) {
    const auto &shape = program.roles(role).buffers(int(host.buffer())).shape();
    if (checkedProduct(shape) != checkedMultiply(batch, sequence))
      faults.add(ProgramRule::Batch, ProgramPlace{program, role}.text(),
                 formatText("takes in '%s' whole, of %llu elements; the global "
                            "microbatch is %llu x %llu",
                            host.name().c_str(),
                            wide(checkedProduct(shape).value_or(0)),
                            wide(batch), wide(sequence)));
  }

  /// Sound scalars (V24) of a rank; -1, which is in no batch, for overflow.
  int64_t placeOf(const program::Scalar &scalar, uint32_t rank) const {
    return places.scalar(scalar, rank).value_or(-1);
  }

  /// The boxes stand in rows of boxes, each of which fills the sequence; the
  /// rows of boxes fill the batch.
  std::string coverFault(const std::set<BatchBox> &found) const {
    std::map<std::pair<int64_t, uint64_t>, std::map<int64_t, uint64_t>> bands;
    for (const BatchBox &box : found) {
      if (box.rows != program.training().micro_batch_size())
        return formatText("a rank takes in %llu sequences, its micro batch "
                          "size is %llu",
                          wide(box.rows),
                          wide(program.training().micro_batch_size()));
      if (!bands[{box.row, box.rows}].emplace(box.column, box.columns).second)
        return "two ranks take in parts of different sizes from one place on";
    }
    uint64_t row = 0;
    for (const auto &[band, columns] : bands) {
      if (band.first < 0 || uint64_t(band.first) != row)
        return formatText("no rank takes in sequence %llu, or two do",
                          wide(row));
      row += band.second;
      uint64_t column = 0;
      for (auto [at, size] : columns) {
        if (at < 0 || uint64_t(at) != column)
          return formatText("no rank takes in position %llu, or two do",
                            wide(column));
        column += size;
      }
      if (column != sequence)
        return formatText("ranks take in %llu positions of a sequence of %llu",
                          wide(column), wide(sequence));
    }
    return row == batch ? ""
                        : formatText("ranks take in %llu sequences of a global "
                                     "microbatch of %llu",
                                     wide(row), wide(batch));
  }

  const program::Program &program;
  FaultList &faults;
  RankPlaces places;
  uint64_t batch, sequence;
  /// By entry and input.
  std::map<std::pair<std::string, std::string>, std::set<BatchBox>> boxes;
};

//===----------------------------------------------------------------------===//
// The vocabulary
//===----------------------------------------------------------------------===//

/// What is wrong with how a sound call sees the vocabulary, or "".
std::string vocabularyFault(const program::Library &library,
                            uint64_t vocabulary) {
  const std::string &op = library.op();
  if (op.starts_with("cross_entropy_") &&
      uint64_t(library.integers(3)) != vocabulary)
    return formatText("'%s' counts %llu columns, the vocabulary has %llu",
                      op.c_str(), wide(uint64_t(library.integers(3))),
                      wide(vocabulary));
  return "";
}

void checkVocabulary(const program::Program &program, FaultList &faults) {
  for (int role = 0; role < program.roles_size(); ++role)
    forEachInstruction(
        program, role, faults,
        [&](const ProgramPlace &place,
            const program::Instruction &instruction) {
          if (!instruction.has_library())
            return;
          std::string fault = vocabularyFault(instruction.library(),
                                              program.model().vocab_size());
          if (!fault.empty())
            faults.add(ProgramRule::Vocabulary, place.text(), fault);
        });
}

} // namespace

void hocket::checkBatch(const program::Program &program, FaultList &faults) {
  BatchChecker(program, faults).run();
  checkVocabulary(program, faults);
}
