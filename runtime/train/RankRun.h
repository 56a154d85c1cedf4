//===- RankRun.h - One rank of a training run -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_RANKRUN_H
#define HOCKET_RUNTIME_TRAIN_RANKRUN_H

#include "runtime/data/samples/RunSamples.h"
#include "runtime/train/RankLaunch.h"
#include "runtime/train/TrainingRun.h"

#include <map>
#include <mutex>

namespace hocket {

/// The samples of a run, opened once for all ranks of a process. Any thread;
/// every call for a split asks for the same.
class SharedSamples {
public:
  explicit SharedSamples(data::RunData from) : from(std::move(from)) {}

  StatusOr<std::shared_ptr<const data::SampleSource>>
  open(const data::GptDatasetOptions &dataset, const data::RunLength &run,
       data::Split split);

private:
  const data::RunData from;
  std::mutex mutex;
  std::map<data::Split,
           std::optional<StatusOr<std::shared_ptr<const data::SampleSource>>>>
      opened;
};

/// What the ranks of a process share, and how a rank is to run.
struct RankRun {
  RankSeat seat;
  std::shared_ptr<const TrainingOptions> options;
  std::shared_ptr<SharedSamples> samples;
};

/// Trains as the rank that `communicators` belong to. On an error the other
/// ranks have been told.
Status runRank(const RankRun &place, comm::CommunicatorSet &communicators);

/// "training wants --data PREFIX ..."
Status missingData();

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_RANKRUN_H
