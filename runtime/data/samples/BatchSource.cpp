//===- BatchSource.cpp - The samples of each microbatch -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/BatchSource.h"

#include "base/CheckedMath.h"
#include "base/Quantity.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <thread>

using namespace hocket;
using namespace hocket::data;

uint64_t Batch::countLabels(uint64_t first, uint64_t count) const {
  auto begin = labels.begin() + ptrdiff_t(first * sequenceLength);
  auto end = begin + ptrdiff_t(count * sequenceLength);
  return uint64_t(
      std::count_if(begin, end, [](int32_t label) { return label >= 0; }));
}

std::vector<int32_t> data::positionsOf(const DocumentMarks &documents,
                                       std::span<const int32_t> tokens,
                                       uint64_t length) {
  std::vector<int32_t> positions(tokens.size());
  int32_t next = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i % length == 0 || tokens[i - 1] == documents.end)
      next = 0;
    positions[i] = next++;
  }
  return positions;
}

/// Fills the rows of `batch`, which says from which sample on.
static Status readFramedRows(const SampleSource &source, uint64_t rows,
                             Batch &batch) {
  uint64_t length = batch.sequenceLength;
  for (auto *list : {&batch.tokenTypes, &batch.keyCounts})
    list->resize(rows * length);
  batch.sentenceLabels.assign(rows * length, -1);
  auto rowOf = [&](std::vector<int32_t> &list, uint64_t row) {
    return std::span(list).subspan(row * length, length);
  };
  for (uint64_t row = 0; row < rows; ++row) {
    FramedSample sample;
    sample.tokens = rowOf(batch.tokens, row);
    sample.labels = rowOf(batch.labels, row);
    sample.types = rowOf(batch.tokenTypes, row);
    HOCKET_RETURN_IF_ERROR(source.readFramed(batch.firstSample + row, sample));
    std::ranges::fill(rowOf(batch.keyCounts, row), int32_t(sample.length));
    batch.sentenceLabels[row * length] = sample.isSwapped;
  }
  return okStatus();
}

/// The same of corrupted spans.
static Status readSpanRows(const SampleSource &source, uint64_t rows,
                           Batch &batch) {
  uint64_t length = batch.sequenceLength, encoder = source.encoderLength();
  batch.encoderLength = encoder;
  batch.encoderTokens.resize(rows * encoder);
  for (uint64_t row = 0; row < rows; ++row) {
    SpanSample sample{
        std::span(batch.encoderTokens).subspan(row * encoder, encoder),
        std::span(batch.tokens).subspan(row * length, length),
        std::span(batch.labels).subspan(row * length, length)};
    HOCKET_RETURN_IF_ERROR(source.readSpans(batch.firstSample + row, sample));
  }
  return okStatus();
}

void data::addPrefixCounts(uint64_t prefix, uint64_t length,
                           std::vector<int32_t> &counts) {
  for (uint64_t i = 0; i < length; ++i)
    counts.push_back(int32_t(std::max(prefix, i + 1)));
}

/// What rows have beside their tokens, of samples with images.
static Status readImageRows(const SampleSource &source, uint64_t rows,
                            Batch &batch) {
  uint64_t length = batch.sequenceLength, floats = source.imageShape().floats();
  batch.pixels.resize(rows * floats);
  batch.imageRows.resize(rows * length);
  for (uint64_t row = 0; row < rows; ++row) {
    ImageSample sample{
        std::span(batch.pixels).subspan(row * floats, floats),
        std::span(batch.imageRows).subspan(row * length, length)};
    HOCKET_RETURN_IF_ERROR(source.readImages(batch.firstSample + row, sample));
  }
  return okStatus();
}

/// Likewise of samples for which something was retrieved.
static Status readNeighborRows(const SampleSource &source, uint64_t rows,
                               Batch &batch) {
  uint64_t each = source.neighborShape().tokens(source.sequenceLength());
  batch.neighbors.resize(rows * each);
  for (uint64_t row = 0; row < rows; ++row)
    HOCKET_RETURN_IF_ERROR(source.readNeighbors(
        batch.firstSample + row,
        std::span(batch.neighbors).subspan(row * each, each)));
  return okStatus();
}

Status data::readBatch(const SampleSource &source, uint64_t first,
                       uint64_t rows, Batch &batch,
                       const DocumentMarks &documents) {
  uint64_t length = source.sequenceLength();
  batch.firstSample = first;
  batch.sequenceLength = length;
  batch.tokens.resize(rows * length);
  batch.labels.resize(rows * length);
  for (auto *list : {&batch.positions, &batch.tokenTypes, &batch.keyCounts,
                     &batch.sentenceLabels, &batch.encoderTokens,
                     &batch.imageRows, &batch.neighbors})
    list->clear();
  batch.pixels.clear();
  batch.encoderLength = 0;
  if (source.isFramed())
    return readFramedRows(source, rows, batch);
  if (source.encoderLength() > 0)
    return readSpanRows(source, rows, batch);
  if (source.imageShape().images > 0)
    HOCKET_RETURN_IF_ERROR(readImageRows(source, rows, batch));
  if (source.neighborShape().neighbors > 0)
    HOCKET_RETURN_IF_ERROR(readNeighborRows(source, rows, batch));
  std::vector<int32_t> sample(length + 1);
  bool choosesLabels = source.lossMask() || source.hasPrefixes();
  std::vector<uint8_t> learned(choosesLabels ? length + 1 : 0);
  for (uint64_t row = 0; row < rows; ++row) {
    HOCKET_RETURN_IF_ERROR(source.read(first + row, sample));
    std::copy_n(sample.begin(), length, batch.tokens.begin() + row * length);
    std::copy_n(sample.begin() + 1, length,
                batch.labels.begin() + row * length);
    if (learned.empty())
      continue;
    HOCKET_RETURN_IF_ERROR(source.readLearned(first + row, learned));
    for (uint64_t i = 0; i < length; ++i)
      if (!learned[i + 1])
        batch.labels[row * length + i] = -1;
    if (source.hasPrefixes())
      addPrefixCounts(prefixOf(learned), length, batch.keyCounts);
  }
  if (documents.end)
    batch.positions = positionsOf(documents, batch.tokens, length);
  for (size_t i = 0; documents.masksLabels && i < batch.tokens.size(); ++i)
    if (batch.tokens[i] == documents.end)
      batch.labels[i] = -1;
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Reading ahead
//===----------------------------------------------------------------------===//

/// What the reading thread and the caller share.
struct BatchSource::Queue {
  std::shared_ptr<const SampleSource> source;
  BatchGeometry geometry;
  DocumentMarks documents;
  uint64_t start = 0;     ///< Samples consumed at the beginning.
  uint64_t handedOut = 0; ///< Microbatches given to the caller.
  size_t ahead = 4;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Batch> ready;
  std::vector<Batch> spare;
  Status failure; ///< Ends the stream, after `ready`.
  bool stopping = false;
  std::thread reader;

  void readAhead();
  uint64_t firstSample(uint64_t count) const;
};

/// The first sample of the microbatch that is `count` after the start.
uint64_t BatchSource::Queue::firstSample(uint64_t count) const {
  uint64_t step = count / geometry.microbatches;
  return geometry.firstSample(start + step * geometry.globalBatchSize(),
                              count % geometry.microbatches);
}

void BatchSource::Queue::readAhead() {
  std::unique_lock lock(mutex);
  for (uint64_t count = 0;; ++count) {
    changed.wait(lock, [&] { return stopping || ready.size() < ahead; });
    if (stopping)
      return;
    Batch batch;
    if (!spare.empty()) {
      batch = std::move(spare.back());
      spare.pop_back();
    }
    lock.unlock();
    Status status = readBatch(*source, firstSample(count),
                              geometry.microBatchSize, batch, documents);
    lock.lock();
    if (status.ok())
      ready.push_back(std::move(batch));
    else
      failure = status;
    changed.notify_all();
    if (!status.ok())
      return;
  }
}

static Status checkGeometry(const BatchGeometry &geometry,
                            uint64_t sequenceLength) {
  if (geometry.microBatchSize == 0 || geometry.microbatches == 0 ||
      geometry.rank >= geometry.ranks)
    return invalidArgument(
        "expected at least one sample, one microbatch and a rank below " +
        std::to_string(geometry.ranks) + "; found " +
        formatNoun(geometry.microBatchSize, "sample") + ", " +
        formatNoun(geometry.microbatches, "microbatch", "microbatches") +
        ", rank " + std::to_string(geometry.rank));
  auto tokens = checkedMultiply(geometry.microBatchSize, sequenceLength);
  auto others = checkedMultiply(geometry.microbatches, geometry.ranks);
  if (!tokens || !others || *tokens > 1ull << 31 || *others > 1ull << 31)
    return invalidArgument(
        formatNoun(geometry.microbatches, "microbatch", "microbatches") +
        " of " + std::to_string(geometry.microBatchSize) + " x " +
        std::to_string(sequenceLength) + " tokens on " +
        formatNoun(geometry.ranks, "rank") +
        "; expected at most 2^31 tokens and 2^31 of the others");
  return okStatus();
}

StatusOr<std::unique_ptr<BatchSource>>
BatchSource::create(std::shared_ptr<const SampleSource> source,
                    const BatchGeometry &geometry, uint64_t consumed,
                    unsigned ahead, const DocumentMarks &documents) {
  HOCKET_RETURN_IF_ERROR(checkGeometry(geometry, source->sequenceLength()));
  auto queue = std::make_unique<Queue>();
  queue->source = std::move(source);
  queue->geometry = geometry;
  queue->documents = documents;
  queue->start = consumed;
  queue->ahead = std::max(ahead, 1u);
  return std::unique_ptr<BatchSource>(new BatchSource(std::move(queue)));
}

BatchSource::BatchSource(std::unique_ptr<Queue> shared)
    : queue(std::move(shared)) {
  queue->reader = std::thread([state = queue.get()] { state->readAhead(); });
}

BatchSource::~BatchSource() {
  {
    std::lock_guard lock(queue->mutex);
    queue->stopping = true;
  }
  queue->changed.notify_all();
  queue->reader.join();
}

Status BatchSource::next(Batch &batch) {
  std::unique_lock lock(queue->mutex);
  queue->changed.wait(
      lock, [&] { return !queue->ready.empty() || !queue->failure.ok(); });
  if (queue->ready.empty())
    return queue->failure;
  if (batch.tokens.capacity())
    queue->spare.push_back(std::move(batch));
  batch = std::move(queue->ready.front());
  queue->ready.pop_front();
  ++queue->handedOut;
  queue->changed.notify_all();
  return okStatus();
}

uint64_t BatchSource::consumedSamples() const {
  return queue->start + queue->handedOut / queue->geometry.microbatches *
                            queue->geometry.globalBatchSize();
}
