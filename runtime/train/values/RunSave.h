//===- RunSave.h - Writing the state of an executor to disk -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a program keeps from step to step (parameters, optimizer slots, and
/// state such as the loss scale), written by global name and shape, so that a
/// run under any other plan can load it (RunCheckpoint.h).
///
/// With several ranks all of it are collectives of the world: every rank writes
/// what it is the first to hold into a file of its own, rank 0 the rest, and
/// each element is written once.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_VALUES_RUNSAVE_H
#define HOCKET_RUNTIME_TRAIN_VALUES_RUNSAVE_H

#include "runtime/checkpoint/ShardedSave.h"
#include "runtime/executor/Executor.h"

#include <future>
#include <memory>
#include <string>

namespace hocket {

/// Writes dir/iter_<state.step> and makes it the latest. Bytes go from the
/// device to the file, a few MiB at a time.
Status saveRun(Executor &executor, const checkpoint::RunState &state,
               const std::string &dir);

/// A checkpoint that is written while the run goes on, from a copy in host
/// memory of what this rank saves. The same files as of saveRun().
class BackgroundSave {
public:
  /// Copies and begins to write. A collective; `executor` outlives the save.
  static StatusOr<std::unique_ptr<BackgroundSave>>
  begin(Executor &executor, const checkpoint::RunState &state,
        const std::string &dir);

  /// Waits until this rank has written. What finish() has not made the latest
  /// is removed, but of a single rank it may be by now.
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave &) = delete;
  BackgroundSave &operator=(const BackgroundSave &) = delete;

  uint64_t step() const { return state.step; }

  /// Whether this rank has written its part, so that it need not wait in
  /// finish().
  bool isWritten() const;

  /// Waits for all ranks' parts and makes the checkpoint the latest. A
  /// collective, once.
  Status finish();

private:
  BackgroundSave(Executor &executor, checkpoint::RunState state)
      : executor(executor), state(std::move(state)) {}

  Executor &executor;
  checkpoint::RunState state;
  /// Rank 0 of several.
  std::unique_ptr<checkpoint::PendingIteration> pending;
  /// What this rank has written, of several; alone it writes all. Behind what
  /// the writer uses, since it waits for it.
  std::future<StatusOr<checkpoint::Shard>> written;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_VALUES_RUNSAVE_H
