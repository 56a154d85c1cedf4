//===- SampleOrder.h - The sample index, kept or looked up ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sample index (SampleIndex.h) takes 12 bytes a sample and 4 a document and
/// epoch: gigabytes for a trillion tokens, in every process, and minutes to
/// make. So a large one is kept in a file (KeptFile.h),
/// PREFIX.<digits>.samples, which is made again where the sizes, the time or
/// the ends of the token files have changed. In it: u64 epochs, samples,
/// documents, separate, together, tokens an epoch; then the documents (i32),
/// the starts (two u32) and the shuffle (u32).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_SAMPLEORDER_H
#define HOCKET_RUNTIME_DATA_SAMPLES_SAMPLEORDER_H

#include "runtime/data/IndexedDataset.h"
#include "runtime/data/KeptFile.h"
#include "runtime/data/samples/SampleIndex.h"

#include <optional>

namespace hocket::data {

class SampleOrder {
public:
  /// In memory.
  explicit SampleOrder(SampleIndex index) : memory(std::move(index)) {
    epochs = memory->plan;
    documentCount = memory->documents.size();
  }

  /// That of `request`, whose lengths are those of `data`, from a file beside
  /// it where it is large.
  static StatusOr<SampleOrder> open(const IndexedDataset &data,
                                    SampleIndexRequest request,
                                    const OrderCache &cache);

  const EpochPlan &plan() const { return epochs; }
  /// The index, where it is in memory.
  const SampleIndex *inMemory() const { return memory ? &*memory : nullptr; }

  /// Where the `sample`-th sample of the run starts; it is below
  /// plan().samples.
  StatusOr<SampleStart> startOf(uint64_t sample) const;

  /// The sequences at `position` and behind it, as many as fit `out` or there
  /// are; returns how many. DataLoss where there is none.
  StatusOr<size_t> documentsAt(uint64_t position, std::span<int32_t> out) const;

private:
  SampleOrder() = default;
  Status readHeader();
  Status damaged(const std::string &what) const;

  EpochPlan epochs;
  uint64_t documentCount = 0;
  std::optional<SampleIndex> memory;
  std::optional<PagedFile> file;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_SAMPLEORDER_H
