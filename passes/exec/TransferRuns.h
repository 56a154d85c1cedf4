//===- TransferRuns.h - When transfers run, and what waits ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Turns a schedule into the runs of an entry. A fragment that receives or
/// sends becomes up to three sequences: `f.receive`, `f`, `f.send`. The
/// computation is on stream 0; each peer, direction and kind of data has a
/// stream of its own, so that a transfer that has to wait holds up nothing
/// else.
///
/// Events order the streams where they meet: what reads a buffer (a copy of it)
/// comes after what has written it, and what writes it after what has read or
/// written it. Each such pair on different streams has a record behind the one
/// and a wait before the other, unless an earlier wait says as much:
///
///   forward_1.receive slot 0   on stream 1
///   sync: record 0 on 1, wait 0 on 0
///   forward_1 slot 0           on stream 0
///   sync: record 1 on 0, wait 1 on 2
///   forward_1.send slot 0      on stream 2
///
/// What a rank sends itself (where a V turns) is one transfer, of which the
/// receive is the place: NCCL takes both ends in one call or refuses them. What
/// is sent stays where it was computed until then.
///
/// A receive is issued before the fragment ahead of its own, if the copy that
/// it fills is free by then: what comes for the next fragment travels while
/// this one computes.
///
/// An entry begins with all streams behind stream 0. The update, or the end of
/// an entry without one, comes behind all transfers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_EXEC_TRANSFERRUNS_H
#define HOCKET_PASSES_EXEC_TRANSFERRUNS_H

#include "passes/exec/StageCopies.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::exec {

/// A record or a wait.
struct SyncInstruction {
  bool isRecord = false;
  int64_t event = 0, stream = 0;

  bool operator<(const SyncInstruction &other) const {
    return std::tie(isRecord, event, stream) <
           std::tie(other.isRecord, other.event, other.stream);
  }
};
using SyncSequence = std::vector<SyncInstruction>;

/// One run of a sequence, by its name.
struct NamedRun {
  std::string sequence;
  int64_t microbatch = 0, slot = 0;
};

enum class PartKind { Receive, Compute, Send };

/// A part of a fragment that runs on one stream.
struct TransferPart {
  std::string name;
  int64_t stream = 0;
  PartKind kind = PartKind::Compute;
  int64_t tag = 0;                ///< of a transfer, the first
  int64_t turns = 1;              ///< events that its runs take by turns
  std::vector<int> reads, writes; ///< buffers that transfers use

  bool isTransfer() const { return kind != PartKind::Compute; }
};

/// A run of a part.
struct TransferStep {
  const TransferPart *part = nullptr;
  int64_t microbatch = 0, slot = 0;
  size_t action = 0;      ///< of the schedule
  std::vector<int> after; ///< steps of other streams that must be over before
  int64_t turn = 0;       ///< its event's number among those of the part
  bool isLast = false;    ///< of what runs once all transfers are over
};

/// Of a role whose transfers stand in the sequences that they belong to. The
/// buffers' copies are asked for when they are needed, so they may grow.
class TransferRuns {
public:
  explicit TransferRuns(RoleOp role);

  /// What `entry` runs, in order, but for receives, which stand directly before
  /// what takes them.
  std::vector<TransferStep> stepsOf(EntryOp entry) const;
  /// The same with receives in their places, and with what each step waits for.
  std::vector<TransferStep> orderedSteps(EntryOp entry);
  /// The runs of that entry.
  std::vector<NamedRun> plan(EntryOp entry);

  /// Buffers that transfers use have numbers, in the order of the role.
  BufferOp bufferAt(int index) const { return buffers[index]; }
  /// The copy of `buffer` that a step uses.
  std::pair<int, int64_t> copyFor(const TransferStep &step, int buffer) const;

  /// The part that receives or sends for a sequence; null: there is none.
  const TransferPart *findPart(SequenceOp sequence, PartKind kind) const;

  /// What the runs use besides the sequences of the program, by name.
  const std::map<std::string, SyncSequence> &syncs() const { return named; }

private:
  using Step = TransferStep;
  /// Who used a copy of a buffer last: steps.
  struct Use {
    int writer = -1;
    std::vector<int> readers;
  };
  using Clock = std::map<int64_t, int>; ///< by stream, the last step done

  void numberBuffers(RoleOp role);
  std::vector<int> numbersOf(mlir::ArrayRef<mlir::Value> values) const;
  void addParts(SequenceOp sequence, int64_t turns);
  void addTransfer(TransferOp transfer, SequenceOp sequence, int64_t turns);
  int64_t streamFor(TransferOp transfer, SequenceOp sequence);
  void addSteps(const EntryRun &run, std::vector<Step> &steps) const;
  bool mustFollow(const Step &step, const Step &earlier) const;
  /// Has a transfer into a copy that is free begin an action earlier.
  void receiveEarly(std::vector<Step> &steps) const;
  void addDependences(std::vector<Step> &steps);
  std::vector<int> dependencesOf(std::vector<Step> &steps, int step);
  static void numberRuns(std::vector<Step> &steps);
  int64_t eventNamed(const std::string &name, int64_t number);
  int64_t eventAfter(const Step &step) {
    return eventNamed(step.part->name, step.turn);
  }
  void addSync(std::vector<NamedRun> &runs, const SyncSequence &sync);

  std::vector<BufferOp> buffers;
  llvm::DenseMap<mlir::Value, int> numbers;
  /// By sequence and kind.
  std::map<std::pair<mlir::Operation *, PartKind>, TransferPart> parts;
  int64_t computing = 1;    ///< streams of computations
  int64_t eventsWithin = 0; ///< events of sequences
  std::map<std::tuple<int64_t, bool, bool>, int64_t> streams;
  std::map<std::pair<std::string, int64_t>, int64_t> events;
  std::map<std::string, SyncSequence> named;
  std::map<std::pair<int, int64_t>, Use> uses;
};

} // namespace hocket::exec

#endif // HOCKET_PASSES_EXEC_TRANSFERRUNS_H
