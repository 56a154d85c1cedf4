//===- LossMask.h - Which tokens are learned --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Beside PREFIX.bin and PREFIX.idx of conversations stands PREFIX.mask, which
/// says of each token whether a model learns to write it:
///
///    0   8   "HKTMASK1"
///    8   8   u64 T, the tokens of the .bin
///   16   8   u64 S, the tokens of every sequence: conversations are packed
///   24   8   u64 the token that ends each conversation
///   32   8   u64 how many tokens are learned
///   40       ceil(T / 8) bytes: bit t % 8 of byte t / 8 is of token t
///
/// Numbers are little-endian.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_LOSSMASK_H
#define HOCKET_RUNTIME_DATA_LOSSMASK_H

#include "base/File.h"
#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace hocket::data {

/// What the head of a .mask says.
struct LossMaskHead {
  uint64_t tokens = 0;
  uint64_t sequenceLength = 0;
  uint64_t endOfConversation = 0;
  uint64_t learned = 0;
};

class LossMask {
public:
  /// Nothing where there is no PREFIX.mask. DataLoss if it is not of a .bin of
  /// `tokens` tokens.
  static StatusOr<std::optional<LossMask>> open(const std::string &prefix,
                                                uint64_t tokens);

  const LossMaskHead &head() const { return about; }

  /// Sets `learned` to 1 for tokens that are learned and 0 for others, from
  /// `first` on, which all are there. Any thread.
  Status read(uint64_t first, std::span<uint8_t> learned) const;

private:
  LossMask(RandomAccessFile file, const LossMaskHead &about)
      : file(std::move(file)), about(about) {}

  RandomAccessFile file;
  LossMaskHead about;
};

/// Writes one; nothing has its name before finish().
class LossMaskWriter {
public:
  static StatusOr<LossMaskWriter> create(const std::string &prefix);

  Status append(std::span<const uint8_t> learned);
  Status finish(uint64_t sequenceLength, uint64_t endOfConversation);

  uint64_t learned() const { return about.learned; }

private:
  explicit LossMaskWriter(AtomicFile file) : file(std::move(file)) {}

  AtomicFile file;
  LossMaskHead about;
  uint8_t open = 0; ///< Bits of the byte that is not whole.
};

/// "PREFIX.mask"
std::string lossMaskPath(const std::string &prefix);

/// Deletes the mask of other tokens that PREFIX had before.
Status removeLossMask(const std::string &prefix);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_LOSSMASK_H
