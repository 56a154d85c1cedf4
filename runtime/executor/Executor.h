//===- Executor.h - Runs the program of one rank ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads the role of one rank onto a device and runs its entries. Everything
/// is resolved once, at creation; a run walks a list of prepared calls. There
/// is no policy here: the order, the buffers and the streams are the
/// program's. Stream 0 runs on the caller's thread, every other one on a thread
/// of its own (StreamQueues.h); where communicators are the device's own, the
/// caller's thread issues everything, and the device's events order it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_EXECUTOR_H
#define HOCKET_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/executor/CapturedEntry.h"
#include "runtime/executor/StreamQueues.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hocket {

/// Time spent in one instruction over all runs, measured with a
/// synchronization behind each.
struct MeasuredTime {
  uint64_t runs = 0;
  double seconds = 0;
};

/// Hears of every instruction, when it is over, on the thread of its stream.
/// Times are Executor::now()'s.
class ExecutionListener {
public:
  using Time = std::chrono::steady_clock::time_point;
  virtual ~ExecutionListener() = default;
  virtual void ran(InstructionPlace place, const RunContext &context,
                   Time begin, Time end) = 0;
};

class Executor {
public:
  /// `program` passed checkProgram() and has a role for the rank that
  /// `communicators` belong to; they were made from groupTableOf(program) and
  /// outlive the executor. Fails if the device cannot hold the arena or run
  /// the kernels.
  static StatusOr<std::unique_ptr<Executor>>
  create(std::shared_ptr<const program::Program> program,
         std::unique_ptr<hal::Device> device,
         comm::CommunicatorSet &communicators);
  ~Executor();

  const program::Program &program() const { return *source; }
  const program::Role &role() const { return source->roles(roleIndex); }
  hal::Device &device() { return *target; }

  bool hasEntry(const std::string &name) const {
    return entries.count(name) != 0;
  }

  unsigned rank() const { return ownRank; }
  comm::CommunicatorSet &communicators() { return *group; }

  /// Runs an entry to its end. `step` counts the steps done before this one.
  /// NotFound for an unknown entry. An error names the rank (if there are
  /// several), the sequence, the instruction and its source; the other ranks
  /// have been told, and neither this executor nor its communicators can be
  /// used any more.
  Status run(const std::string &entry, uint64_t step, HostChannel &host);

  /// FailedPrecondition, with the reason, if capture() cannot be of use.
  Status checkCapturable(const std::string &entry) const;
  /// Has the device capture the entry, which has run before, under the present
  /// seed: from now on run() replays that, to the same numbers. An error
  /// changes nothing. All ranks capture alike, or forgetGraphs(). Who
  /// measures or listens has it run as before.
  Status capture(const std::string &entry);
  bool isCaptured(const std::string &entry) const {
    return graphs.contains(entry);
  }

  void forgetGraphs() { graphs.clear(); }

  /// The seed that the program's random numbers are keyed with; at first the
  /// one it was compiled with. Forgets what was captured.
  void setSeed(uint64_t value) {
    seed = value;
    forgetGraphs();
  }
  uint64_t currentSeed() const { return seed; }

  /// Copies bytes [offset, offset + bytes) of this rank's slice of a
  /// parameter's state (ParameterSlice), which is dense, between device and
  /// host. InvalidArgument if they do not lie inside the slice.
  Status readSlice(const program::ParameterSlice &slice, uint64_t offset,
                   void *to, uint64_t bytes);
  Status writeSlice(const program::ParameterSlice &slice, uint64_t offset,
                    const void *from, uint64_t bytes);
  /// Has it copied, once `from` is free again: what follows waits for it with
  /// device().synchronize(). Nothing else may be under way.
  Status beginWriteSlice(const program::ParameterSlice &slice, uint64_t offset,
                         const void *from, uint64_t bytes);
  /// Bytes of a slice.
  uint64_t sliceBytes(const program::ParameterSlice &slice) const;

  /// From now on measures every instruction; slows the program down.
  void startProfile();
  /// By sequence and instruction; empty before startProfile().
  const std::vector<std::vector<MeasuredTime>> &profile() const {
    return times;
  }

  /// The time: the machine's, or what a device that plays time shows for a
  /// stream, from its creation on.
  ExecutionListener::Time now(uint32_t stream) const;

  /// From now on tells `next`, which outlives the executor; null: nobody.
  void setListener(ExecutionListener *next) { listener = next; }

private:
  /// An instruction, and what kind of thing it is to the queues.
  struct Step {
    std::unique_ptr<PreparedCall> call; ///< Null: an event.
    uint32_t stream = 0;
    bool records = false;
    uint32_t event = 0;
  };

  Executor() = default;
  Status load();
  Status prepare(const std::vector<hal::KernelId> &kernels);
  Status prepareDevice();
  void start();
  Status runEntry(const program::Entry &entry, const RunContext &first);
  Status runOrReplay(const program::Entry &entry, uint64_t step,
                     HostChannel &host);
  Status issue(InstructionPlace place, const Step &step,
               const RunContext &context);
  void noteReplay(const program::Entry &entry);
  Status issueEvent(const Step &step, CapturedEntry *capture);
  StatusOr<hal::GraphId> captureEntry(const program::Entry &entry,
                                      CapturedEntry &capture);
  Status runCall(PreparedCall &call, InstructionPlace place,
                 const RunContext &context);
  std::string describe(InstructionPlace place) const;
  Status checkSlice(const program::ParameterSlice &slice, uint64_t offset,
                    uint64_t bytes, hal::Range &range) const;

  std::shared_ptr<const program::Program> source;
  int roleIndex = 0;
  std::unique_ptr<hal::Device> target;
  comm::CommunicatorSet *group = nullptr;
  unsigned ownRank = 0;
  uint64_t seed = 0;
  std::vector<std::vector<Step>> sequences;
  std::map<std::string, int> entries;
  std::map<std::string, CapturedEntry> graphs; ///< By entry.
  std::vector<std::vector<MeasuredTime>> times;
  ExecutionListener *listener = nullptr;
  /// Ends before what its threads use. Null: the device orders its streams.
  std::unique_ptr<StreamQueues> queues;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_EXECUTOR_H
