//===- SaveFolder.h - The folder of a run's checkpoints ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nothing that a folder holds is lost in silence: a run writes where nobody
/// else does, and into the checkpoints of another run only where it goes on
/// from the newest of them or was told to overwrite them. Rank 0 claims the
/// folder before anything is trained; the other ranks only probe it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_SAVEFOLDER_H
#define HOCKET_RUNTIME_TRAIN_SAVEFOLDER_H

#include "runtime/comm/interfaces/Communicator.h"
#include "runtime/train/FolderLock.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

struct SaveRequest {
  std::string dir;
  std::string loadDir;    ///< What the run goes on from; may be empty.
  bool resume = false;    ///< Goes on from `dir` where that holds a checkpoint.
  bool overwrite = false; ///< Replaces what another run has left.
  uint64_t keep = 0;      ///< Newest checkpoints that stay; 0: all.
};

class SaveFolder {
public:
  /// Makes the folder, writes to it and locks it. InvalidArgument if that
  /// cannot be, or if it holds checkpoints that the run would mix with its own;
  /// FailedPrecondition if another run saves there now.
  static StatusOr<std::unique_ptr<SaveFolder>> claim(SaveRequest request);

  /// Removes folders that claim() made, where they are empty.
  ~SaveFolder();

  /// The checkpoint that a run with `resume` goes on from.
  std::optional<uint64_t> resumedStep() const { return resumed; }

  /// What a person should know before the run starts, a line each.
  const std::vector<std::string> &notices() const { return lines; }

  /// To be called when the checkpoint of `step` is complete and the latest.
  /// Deletes what was to be overwritten, and what `keep` leaves no room for.
  Status saved(uint64_t step);

private:
  explicit SaveFolder(SaveRequest request) : request(std::move(request)) {}
  Status lock();
  Status admit();
  std::optional<uint64_t> stepLoadedFromHere(uint64_t latest) const;

  SaveRequest request;
  std::vector<std::string> madeFolders; ///< Outermost first.
  std::unique_ptr<FolderLock> held;
  std::optional<uint64_t> resumed;
  std::vector<uint64_t> stale; ///< To delete once something newer is there.
  std::vector<std::string> lines;
};

/// Writes a file to `dir` and deletes it again. InvalidArgument or
/// ResourceExhausted with the reason why that cannot be.
Status probeFolder(const std::string &dir);

struct ClaimedFolder {
  std::unique_ptr<SaveFolder> folder;  ///< Of rank 0; null elsewhere.
  std::optional<uint64_t> resumedStep; ///< The same on all ranks.
};

/// A collective of the world: rank 0 claims the folder for all, then every
/// other rank probes it. The same error on all ranks.
StatusOr<ClaimedFolder> claimTogether(comm::Communicator &world,
                                      SaveRequest request);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_SAVEFOLDER_H
