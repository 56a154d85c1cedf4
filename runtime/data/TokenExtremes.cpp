//===- TokenExtremes.cpp - The largest token of a file --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenExtremes.h"

#include "base/Format.h"
#include "base/WorkerPool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <mutex>
#include <unistd.h>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Which bytes
//===----------------------------------------------------------------------===//

namespace {
/// Whole tokens, that begin at `begin`.
struct ByteRange {
  uint64_t begin = 0, end = 0;
};
} // namespace

/// A worker reads so much at a time.
static constexpr uint64_t readBytes = uint64_t(1) << 20;

/// Calls visit(sequence, range) for the bytes of every sequence.
template <typename Visit>
static Status eachSequence(const IndexedDataset &file, Visit visit) {
  uint64_t width = tokenBytes(file.tokenType());
  std::vector<uint64_t> offsets(std::min<uint64_t>(file.sequences(), 1 << 16));
  std::vector<int32_t> lengths(offsets.size());
  for (uint64_t first = 0; first < file.sequences();) {
    size_t count = std::min<uint64_t>(file.sequences() - first, offsets.size());
    HOCKET_RETURN_IF_ERROR(
        file.byteOffsets(first, std::span(offsets).first(count)));
    HOCKET_RETURN_IF_ERROR(
        file.lengths(first, std::span(lengths).first(count)));
    for (size_t i = 0; i < count; ++i, ++first)
      visit(first,
            ByteRange{offsets[i], offsets[i] + uint64_t(lengths[i]) * width});
  }
  return okStatus();
}

/// What the sequences cover, in ascending order and in parts of at most
/// readBytes. Sequences may share bytes, and need not be aligned to each other:
/// bytes are read once for each of the alignments that they have.
static StatusOr<std::vector<ByteRange>>
coveredBytes(const IndexedDataset &file) {
  uint64_t width = tokenBytes(file.tokenType());
  std::array<uint64_t, 8> covered = {};
  std::vector<ByteRange> ranges;
  HOCKET_RETURN_IF_ERROR(eachSequence(file, [&](uint64_t, ByteRange sequence) {
    uint64_t &until = covered[sequence.begin % width];
    for (uint64_t at = std::max(sequence.begin, until); at < sequence.end;) {
      bool extends = !ranges.empty() && ranges.back().end == at &&
                     (at - ranges.back().begin) % width == 0 &&
                     at - ranges.back().begin < readBytes;
      if (!extends)
        ranges.push_back({at, at});
      at = std::min(sequence.end, ranges.back().begin + readBytes);
      ranges.back().end = at;
    }
    until = std::max(until, sequence.end);
  }));
  return ranges;
}

//===----------------------------------------------------------------------===//
// One part
//===----------------------------------------------------------------------===//

namespace {
/// A token and the byte where it begins.
struct TokenAtByte {
  int64_t token = 0;
  uint64_t byte = 0;
};

/// The extremes of what a worker has read; none yet where `any` is false.
struct Found {
  bool any = false;
  TokenAtByte least, greatest;

  /// Of equal tokens the first in the file counts.
  void take(const TokenAtByte &low, const TokenAtByte &high) {
    if (!any || low.token < least.token ||
        (low.token == least.token && low.byte < least.byte))
      least = low;
    if (!any || high.token > greatest.token ||
        (high.token == greatest.token && high.byte < greatest.byte))
      greatest = high;
    any = true;
  }
};
} // namespace

template <typename T>
static void scan(const char *bytes, ByteRange range, Found &found) {
  size_t count = (range.end - range.begin) / sizeof(T);
  auto load = [bytes](size_t i) {
    T token;
    std::memcpy(&token, bytes + i * sizeof(T), sizeof(T));
    return token;
  };
  T low = load(0), high = low;
  for (size_t i = 1; i < count; ++i) {
    low = std::min(low, load(i));
    high = std::max(high, load(i));
  }
  if (found.any && int64_t(low) > found.least.token &&
      int64_t(high) < found.greatest.token)
    return;
  auto placed = [&](T token) -> TokenAtByte {
    size_t at = 0;
    while (load(at) != token)
      ++at;
    return {int64_t(token), range.begin + at * sizeof(T)};
  };
  found.take(placed(low), placed(high));
}

static void scan(TokenType type, const char *bytes, ByteRange range,
                 Found &found) {
  switch (type) {
  case TokenType::U8:
    return scan<uint8_t>(bytes, range, found);
  case TokenType::I8:
    return scan<int8_t>(bytes, range, found);
  case TokenType::I16:
    return scan<int16_t>(bytes, range, found);
  case TokenType::I32:
    return scan<int32_t>(bytes, range, found);
  case TokenType::I64:
    return scan<int64_t>(bytes, range, found);
  case TokenType::U16:
    return scan<uint16_t>(bytes, range, found);
  }
}

//===----------------------------------------------------------------------===//
// All parts
//===----------------------------------------------------------------------===//

namespace {
/// One pass over a .bin by several workers.
class Scan {
public:
  Scan(const IndexedDataset &file, const ScanProgress &progress)
      : file(file), progress(progress), path(file.prefix() + ".bin") {}
  ~Scan() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  Scan(const Scan &) = delete;
  Scan &operator=(const Scan &) = delete;

  StatusOr<Found> run() {
    HOCKET_ASSIGN_OR_RETURN(ranges, coveredBytes(file));
    if (ranges.empty())
      return Found();
    for (const ByteRange &range : ranges)
      allBytes += range.end - range.begin;
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
      return dataLoss(path + ": cannot open: " + errnoMessage(errno));
    (void)::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    HOCKET_ASSIGN_OR_RETURN(unsigned workers, WorkerPool::defaultCount());
    workers = unsigned(std::min<uint64_t>({workers, 8, ranges.size()}));
    std::vector<Found> found(workers);
    WorkerPool pool(workers);
    pool.onEachWorker([&](unsigned worker) { work(found[worker]); });
    HOCKET_RETURN_IF_ERROR(failure);
    Found all;
    for (const Found &part : found)
      if (part.any)
        all.take(part.least, part.greatest);
    return all;
  }

private:
  void work(Found &found) {
    std::vector<char> bytes(readBytes);
    for (size_t i = next++; i < ranges.size() && !stops; i = next++) {
      Status status = read(ranges[i], bytes.data());
      if (status.ok())
        scan(file.tokenType(), bytes.data(), ranges[i], found);
      tell(status, ranges[i].end - ranges[i].begin);
    }
  }

  Status read(ByteRange range, char *to) const {
    while (range.begin < range.end) {
      ssize_t got =
          ::pread(descriptor, to, range.end - range.begin, off_t(range.begin));
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return dataLoss(path + ": cannot read: " + errnoMessage(errno));
      if (got == 0)
        return dataLoss(path + ": ends at byte " + std::to_string(range.begin) +
                        ", its index tells of more; it was cut short");
      to += got;
      range.begin += uint64_t(got);
    }
    return okStatus();
  }

  void tell(const Status &status, uint64_t bytes) {
    std::lock_guard lock(mutex);
    doneBytes += bytes;
    if (!failure.ok())
      return;
    failure = status;
    if (failure.ok() && progress && !progress(doneBytes, allBytes))
      failure = unavailable(path + ": interrupted while its tokens were "
                                   "compared with the vocabulary");
    stops = !failure.ok();
  }

  const IndexedDataset &file;
  const ScanProgress &progress;
  std::string path;
  std::vector<ByteRange> ranges;
  uint64_t allBytes = 0;
  int descriptor = -1;
  std::atomic<size_t> next{0};
  std::atomic<bool> stops{false};
  std::mutex mutex; ///< Of the two below.
  uint64_t doneBytes = 0;
  Status failure;
};
} // namespace

/// The first sequence that has a token at this byte.
static StatusOr<PlacedToken> placeOf(const IndexedDataset &file,
                                     TokenAtByte found) {
  uint64_t width = tokenBytes(file.tokenType());
  std::optional<PlacedToken> placed;
  HOCKET_RETURN_IF_ERROR(
      eachSequence(file, [&](uint64_t sequence, ByteRange range) {
        if (!placed && range.begin <= found.byte && found.byte < range.end &&
            (found.byte - range.begin) % width == 0)
          placed = {found.token, sequence, (found.byte - range.begin) / width};
      }));
  return placed.value_or(PlacedToken{found.token, 0, 0});
}

StatusOr<std::optional<TokenExtremes>>
data::findTokenExtremes(const IndexedDataset &file,
                        const ScanProgress &progress) {
  HOCKET_ASSIGN_OR_RETURN(Found found, Scan(file, progress).run());
  if (!found.any)
    return std::optional<TokenExtremes>();
  TokenExtremes extremes;
  HOCKET_ASSIGN_OR_RETURN(extremes.least, placeOf(file, found.least));
  HOCKET_ASSIGN_OR_RETURN(extremes.greatest, placeOf(file, found.greatest));
  return std::optional(extremes);
}

//===----------------------------------------------------------------------===//
// Against a vocabulary
//===----------------------------------------------------------------------===//

bool data::canLeaveVocabulary(TokenType type, uint64_t vocabularySize) {
  switch (type) {
  case TokenType::U8:
    return vocabularySize <= std::numeric_limits<uint8_t>::max();
  case TokenType::U16:
    return vocabularySize <= std::numeric_limits<uint16_t>::max();
  default:
    return true;
  }
}

Status data::checkVocabulary(const std::string &prefix,
                             const TokenExtremes &extremes,
                             uint64_t vocabularySize) {
  auto refused = [&](const PlacedToken &placed, const std::string &why) {
    return dataLoss(
        formatText("%s.bin: sequence %llu, position %llu: token %lld %s",
                   prefix.c_str(), (unsigned long long)placed.sequence,
                   (unsigned long long)placed.position, (long long)placed.token,
                   why.c_str()));
  };
  if (extremes.least.token < 0)
    return refused(extremes.least, "is negative; the file is damaged, or "
                                   "holds no tokens");
  if (uint64_t(extremes.greatest.token) < vocabularySize)
    return okStatus();
  return refused(
      extremes.greatest,
      formatText("is outside the vocabulary of %llu entries. It is the largest "
                 "of the file: write model.vocab_size: %llu or more, or "
                 "prepare the data with the model's tokenizer",
                 (unsigned long long)vocabularySize,
                 (unsigned long long)extremes.greatest.token + 1));
}
