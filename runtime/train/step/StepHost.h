//===- StepHost.h - Batches in, metrics out ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The host's side of one step: gives each microbatch its tokens and labels
/// and the step its numbers, and collects what the program reports.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_STEPHOST_H
#define HOCKET_RUNTIME_TRAIN_STEP_STEPHOST_H

#include "runtime/data/samples/BatchSource.h"
#include "runtime/executor/HostChannel.h"
#include "runtime/train/step/MicrobatchRows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace hocket {

/// What a step has reported; numbers that the program does not report are
/// absent.
struct StepOutputs {
  std::vector<float> losses; ///< Of each microbatch, whatever ran first.
  std::map<std::string, float> numbers; ///< "grad_norm", "loss_scale", ...
  double expertLoad = 0; ///< The greatest (HostChannel::noteExpertLoad()).
  /// This rank had no room for the rows of its experts.
  bool isBeyondBound = false;

  /// Mean of the losses; NaN if there is none.
  double meanLoss() const;
  std::optional<double> number(const std::string &name) const;
};

class StepHost : public HostChannel {
public:
  /// Gives the next microbatch, in order: of its sequences those from
  /// `firstRow` on.
  using NextBatch = std::function<Status(data::Batch &)>;

  explicit StepHost(NextBatch next, uint64_t firstRow = 0)
      : next(std::move(next)), firstRow(firstRow) {}

  /// Reads the first `microbatches` batches of the next step, between two
  /// steps: what cannot be read is known before the step has begun.
  Status fetch(size_t microbatches);

  /// Of `rows` in each of the batches that were read, the labels that are not
  /// -1.
  uint64_t countLabels(const MicrobatchRows &rows) const;

  /// Starts a step (`step` steps done before it, `microbatches` in it, which
  /// have `labels` over all ranks): forgets the outputs of the last one, and
  /// its batches unless fetch() has replaced them.
  void begin(uint64_t step, double learningRate, uint64_t microbatches = 1,
             uint64_t labels = 1);

  /// Starts the same step once more: forgets its outputs, and nothing else.
  void beginAgain() { collected = StepOutputs(); }

  /// From now on a step goes on where there is no room for rows of experts, to
  /// numbers that are none; outputs() say so, and who runs it runs it again.
  void allowReruns() { allowsReruns = true; }

  const StepOutputs &outputs() const { return collected; }

  /// What is of positions behind the last one is 0.
  Status provide(const HostInput &input, std::span<std::byte> data) override;
  std::vector<ByteRange> wanted(const HostOutput &output) override;
  void noteExpertLoad(double load) override {
    collected.expertLoad = std::max(collected.expertLoad, load);
  }
  Status beyondBound(const Status &why) override;
  Status receive(const std::string &name, uint32_t microbatch,
                 std::span<const std::byte> data) override;

protected:
  /// Gives an input of the batch its part of `from`, [rows, length].
  Status provideRows(const HostInput &input, std::span<const int32_t> from,
                     uint64_t length, std::span<std::byte> data) const;
  /// The same of pixels.
  Status provideRows(const HostInput &input, std::span<const float> from,
                     uint64_t length, std::span<std::byte> data) const;

private:
  Status readUpTo(size_t count);
  Status provideBatch(const HostInput &input, std::span<std::byte> data);
  /// provideRows() of elements of 4 bytes.
  template <typename T>
  Status provideElements(const HostInput &input, std::span<const T> from,
                         uint64_t length, std::span<std::byte> data) const;
  template <typename T>
  Status gather(const HostInput &input, std::span<const T> from,
                uint64_t length, std::span<std::byte> data) const;

  NextBatch next;
  uint64_t firstRow;
  uint64_t step = 0;
  float rate = 0;
  uint64_t microbatches = 1, labels = 1;
  std::vector<data::Batch> batches; ///< Of the microbatches so far.
  size_t fetched = 0;
  bool isFetched = false; ///< fetch() came after the last step.
  bool allowsReruns = false;
  StepOutputs collected;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_STEPHOST_H
