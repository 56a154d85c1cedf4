//===- ScoreHost.h - Log-probabilities of a microbatch ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EVALUATE_SCOREHOST_H
#define HOCKET_RUNTIME_EVALUATE_SCOREHOST_H

#include "runtime/comm/interfaces/Communicator.h"
#include "runtime/program/program.pb.h"
#include "runtime/train/StepHost.h"

#include <set>

namespace hocket::evaluate {

/// The host of one evaluation step: gives the global microbatch and takes what
/// the program says of each label that this rank holds.
class ScoreHost : public StepHost {
public:
  /// A checked program; `next` gives global microbatches.
  ScoreHost(const program::Program &program, unsigned rank, NextBatch next);

  /// Rows and labels of a row.
  uint64_t rows() const { return batch; }
  uint64_t length() const { return sequence; }

  Status provide(const HostInput &input, std::span<std::byte> data) override;
  Status receive(const std::string &name, uint32_t microbatch,
                 std::span<const std::byte> data) override;

  /// After a run of the entry: the log-probability of each label, [rows,
  /// length], `picked - lse` in f32, the same on every rank; of a label of -1
  /// it means nothing. A collective of the world.
  StatusOr<std::vector<float>> share(comm::Communicator &world) const;

private:
  /// Where a box of labels begins: row and column.
  using Corner = std::pair<int64_t, int64_t>;

  uint64_t batch, sequence;
  std::set<Corner> ownBoxes; ///< That no lower rank holds too.
  std::vector<HostShard> shards;
  std::vector<float> lse, picked; ///< As this rank holds the labels.
};

} // namespace hocket::evaluate

#endif // HOCKET_RUNTIME_EVALUATE_SCOREHOST_H
