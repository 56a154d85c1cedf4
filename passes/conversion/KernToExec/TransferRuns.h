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

#ifndef HOCKET_PASSES_CONVERSION_KERNTOEXEC_TRANSFERRUNS_H
#define HOCKET_PASSES_CONVERSION_KERNTOEXEC_TRANSFERRUNS_H

#include "passes/conversion/KernToExec/FlatProgram.h"

#include <map>
#include <tuple>

namespace hocket::kerntoexec {

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
struct Run {
  std::string sequence;
  int64_t microbatch = 0, slot = 0;
};

/// A part of a fragment that runs on one stream.
struct TransferPart {
  std::string name;
  int64_t stream = 0;
  FlatInstruction::Kind kind = FlatInstruction::Kind::Launch; ///< or a transfer
  bool isGradient = false;                                    ///< of a transfer
  FlatLink link;                  ///< of a transfer, the first
  int64_t turns = 1;              ///< events that its runs take by turns
  std::vector<int> reads, writes; ///< buffers that transfers use

  bool isTransfer() const { return kind != FlatInstruction::Kind::Launch; }
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

class TransferRuns {
public:
  explicit TransferRuns(const FlatProgram &program);

  /// What the entry that `schedule` describes runs, in order, but for receives,
  /// which stand directly before what takes them.
  std::vector<TransferStep> stepsOf(kern::ScheduleOp schedule) const;
  /// The same with receives in their places, and with what each step waits for.
  std::vector<TransferStep> orderedSteps(kern::ScheduleOp schedule);
  /// The runs of that entry.
  std::vector<Run> plan(kern::ScheduleOp schedule);

  /// The copy of `buffer` that a step uses.
  std::pair<int, int64_t> copyFor(const TransferStep &step, int buffer) const;

  /// The stream of the transfer that sequence `s` receives or sends with.
  int64_t streamOf(size_t s, FlatInstruction::Kind part) const;

  /// What the runs use besides the sequences of the program, by name.
  const std::map<std::string, SyncSequence> &syncs() const { return named; }

  static std::string receiveName(const FlatSequence &sequence) {
    return sequence.functionName() + ".receive";
  }
  static std::string sendName(const FlatSequence &sequence) {
    return sequence.functionName() + ".send";
  }

private:
  using Kind = FlatInstruction::Kind;
  using Step = TransferStep;
  /// Who used a copy of a buffer last: steps.
  struct Use {
    int writer = -1;
    std::vector<int> readers;
  };
  using Clock = std::map<int64_t, int>; ///< by stream, the last step done

  void addParts(size_t s);
  TransferPart &partOf(size_t s, Kind kind) { return parts[{s, kind}]; }
  int64_t streamFor(const FlatInstruction &transfer, char fragment);
  void addSteps(size_t s, size_t number, mlir::ArrayAttr action,
                std::vector<Step> &steps) const;
  bool mustFollow(const Step &step, const Step &earlier) const;
  /// Has a transfer into a copy that is free begin an action earlier.
  void receiveEarly(std::vector<Step> &steps) const;
  void addDependences(std::vector<Step> &steps);
  std::vector<int> dependencesOf(std::vector<Step> &steps, int step);
  static void numberTurns(std::vector<Step> &steps);
  int64_t eventNamed(const std::string &name, int64_t number);
  int64_t eventAfter(const Step &step) {
    return eventNamed(step.part->name, step.turn);
  }
  void addSync(std::vector<Run> &runs, const SyncSequence &sync);

  const FlatProgram &program;
  std::map<std::pair<size_t, Kind>, TransferPart>
      parts;                                      ///< Launch: the computation
  llvm::StringMap<std::vector<size_t>> sequences; ///< by function
  std::map<std::tuple<int64_t, bool, bool>, int64_t> streams;
  std::map<std::pair<std::string, int64_t>, int64_t> events;
  std::map<std::string, SyncSequence> named;
  std::map<std::pair<int, int64_t>, Use> uses;
};

} // namespace hocket::kerntoexec

#endif // HOCKET_PASSES_CONVERSION_KERNTOEXEC_TRANSFERRUNS_H
