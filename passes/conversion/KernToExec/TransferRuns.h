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

class TransferRuns {
public:
  explicit TransferRuns(const FlatProgram &program);

  /// The runs of the entry that `schedule` describes.
  std::vector<Run> plan(kern::ScheduleOp schedule);

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
  /// A part of a fragment that runs on one stream.
  struct Part {
    std::string name;
    int64_t stream = 0;
    bool receives = false;
    std::vector<int> reads, writes; ///< buffers that transfers use
  };
  struct Step {
    const Part *part = nullptr;
    int64_t microbatch = 0, slot = 0;
    int64_t turn = 0;  ///< its events' number: no two in flight have the same
    size_t action = 0; ///< of the schedule
    std::vector<int64_t> waits; ///< events
    int64_t record = -1;        ///< event
    bool isLast = false;        ///< of what runs once all transfers are over
  };
  /// Who used a copy of a buffer last: steps.
  struct Use {
    int writer = -1;
    std::vector<int> readers;
  };
  using Clock = std::map<int64_t, int>; ///< by stream, the last step done

  void addParts(size_t s);
  Part &partOf(size_t s, Kind kind) { return parts[{s, kind}]; }
  int64_t streamFor(const FlatInstruction &transfer, char fragment);
  std::vector<Step> stepsOf(kern::ScheduleOp schedule);
  void addSteps(size_t s, size_t number, mlir::ArrayAttr action,
                std::vector<Step> &steps);
  /// The copy of `buffer` that a step uses.
  std::pair<int, int64_t> copyFor(const Step &step, int buffer) const;
  bool mustFollow(const Step &step, const Step &earlier) const;
  /// Has a transfer into a copy that is free begin an action earlier.
  void receiveEarly(std::vector<Step> &steps) const;
  void addEvents(std::vector<Step> &steps);
  std::vector<int> dependencesOf(std::vector<Step> &steps, int step);
  int64_t eventNamed(const std::string &name, int64_t number);
  int64_t eventAfter(Step &step);
  void addSync(std::vector<Run> &runs, const SyncSequence &sync);

  const FlatProgram &program;
  std::map<std::pair<size_t, Kind>, Part> parts;  ///< Launch: the computation
  llvm::StringMap<std::vector<size_t>> sequences; ///< by function
  std::map<std::tuple<int64_t, bool, bool>, int64_t> streams;
  std::map<std::pair<std::string, int64_t>, int64_t> events;
  std::map<std::string, SyncSequence> named;
  std::map<std::pair<int, int64_t>, Use> uses;
};

} // namespace hocket::kerntoexec

#endif // HOCKET_PASSES_CONVERSION_KERNTOEXEC_TRANSFERRUNS_H
