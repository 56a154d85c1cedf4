//===- ScoreHost.h - What a model says of a microbatch ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_SCOREHOST_H
#define HOCKET_RUNTIME_TRAIN_STEP_SCOREHOST_H

#include "runtime/comm/interfaces/Communicator.h"
#include "runtime/program/program.pb.h"
#include "runtime/train/step/StepHost.h"

#include <set>

namespace hocket {

/// A position of the global microbatch.
struct LabelPlace {
  uint64_t row = 0, position = 0;
};

/// The host of one evaluation step: gives the global microbatch and takes what
/// the program says of the labels that this rank holds. What somebody wants to
/// know is said before a run, the same on every rank, and shared behind it.
class ScoreHost : public StepHost {
public:
  /// A checked program; `next` gives global microbatches.
  ScoreHost(const program::Program &program, unsigned rank, NextBatch next)
      : ScoreHost(program, rank, std::move(next), "logits") {}

  /// The same; in the place of logits it takes what the last layer made, where
  /// the program tells it.
  static ScoreHost ofHidden(const program::Program &program, unsigned rank,
                            NextBatch next);

  /// Of another entry, with `tokens` sequences of one position each.
  ScoreHost(const program::Program &program, unsigned rank,
            const std::string &entry, uint64_t tokens);

  /// Rows and labels of a row.
  uint64_t rows() const { return batch; }
  uint64_t length() const { return sequence; }
  /// Numbers of each place that ask() takes; 0 if the program tells none.
  uint64_t width() const { return columns; }

  /// Of the runs from here on: whether to bring the labels' log-probabilities
  /// (at first, yes), and the logits of which places (at first, of none).
  void ask(bool labels, std::vector<LabelPlace> logits);

  std::vector<ByteRange> wanted(const HostOutput &output) override;
  Status receive(const std::string &name, uint32_t microbatch,
                 std::span<const std::byte> data) override;

  /// After a run of the entry: the log-probability of each label, [rows,
  /// length], `picked - lse` in f32, the same on every rank; of a label of -1
  /// it means nothing. A collective of the world.
  StatusOr<std::vector<float>> shareLabels(comm::Communicator &world) const;

  /// The same of the logits, or of what the last layer made, that were asked
  /// for: [places, width()].
  StatusOr<std::vector<float>> shareLogits(comm::Communicator &world) const;

private:
  ScoreHost(const program::Program &program, unsigned rank, NextBatch next,
            const std::string &rowName);

  /// Where a shard begins, one a dim.
  using Corner = std::vector<int64_t>;

  /// One output of each label, as this rank holds it.
  struct Held {
    std::set<Corner> own; ///< Shards that no lower rank holds too.
    std::vector<HostShard> shards;
    program::DType type = program::DTYPE_UNSPECIFIED;
    std::vector<float> values;
  };
  /// Columns of the logits of one place.
  struct LogitRun {
    size_t place;
    uint64_t firstColumn, columns;
  };

  Held &heldOf(const std::string &name);
  void findOwn(const program::Program &program, unsigned rank,
               const std::string &entry, const std::string &name);
  static uint64_t widthOf(const program::Program &program,
                          const std::string &name);
  std::vector<ByteRange> wantedLogits(const HostOutput &output);
  StatusOr<std::vector<float>> sumOfBits(comm::Communicator &world,
                                         std::vector<int32_t> words) const;

  std::string rowName = "logits"; ///< The output that has a row of numbers.
  uint64_t batch, sequence, columns;
  bool wantsLabels = true;
  std::vector<LabelPlace> places;
  Held lse, picked, logits;
  std::vector<LogitRun> runs; ///< What `logits.values` are, one after another.
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_SCOREHOST_H
