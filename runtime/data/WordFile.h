//===- WordFile.h - Which tokens continue a word ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Beside PREFIX.bin and PREFIX.idx of texts that a WordPiece vocabulary cut
/// stands PREFIX.words, which says of each token of the vocabulary whether it
/// continues the word of the token before it ("##ing"):
///
///    0   8   "HKTWORD1"
///    8   8   u64 T, the tokens of the .bin
///   16   8   u64 V, the tokens of the vocabulary, at most 2^31
///   24   8   u64 how many of them continue a word
///   32       ceil(V / 8) bytes: bit t % 8 of byte t / 8 is of token t
///
/// Numbers are little-endian. Whole words are masked by it (MaskedDataset.h).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_WORDFILE_H
#define HOCKET_RUNTIME_DATA_WORDFILE_H

#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hocket::data {

/// Of each token of a vocabulary, whether it continues a word.
using WordContinuations = std::vector<bool>;

/// Reads PREFIX.words; nothing where there is none. DataLoss if it is not of a
/// .bin of `tokens` tokens, or damaged.
StatusOr<std::optional<WordContinuations>>
readWordFile(const std::string &prefix, uint64_t tokens);

/// Writes it for a .bin of `tokens` tokens, in place of whatever had its name.
Status writeWordFile(const std::string &prefix, uint64_t tokens,
                     const WordContinuations &continues);

/// "PREFIX.words"
std::string wordFilePath(const std::string &prefix);

/// Deletes what was said of other tokens that PREFIX had before.
Status removeWordFile(const std::string &prefix);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_WORDFILE_H
