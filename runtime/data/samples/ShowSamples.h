//===- ShowSamples.h - Samples as text or JSON ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `hocket data show`: what a run trains on at given sample numbers. As JSON,
/// one object a line:
///
///   {"sample":3,"pieces":[{"prefix":"data/x_text_document","sequence":7,
///     "offset":12,"length":5}],"tokens":[104,105,...]}
///
/// `tokens` has sequence length + 1 entries: the tokens and, one further, the
/// labels. Of conversations "learned" has as many entries, 1 for tokens of
/// answers and 0 for others; as text, answers stand in [[ and ]].
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_SHOWSAMPLES_H
#define HOCKET_RUNTIME_DATA_SAMPLES_SHOWSAMPLES_H

#include "runtime/data/samples/SampleSource.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <cstdint>
#include <iosfwd>
#include <string>

namespace hocket::data {

/// The samples [begin, end).
struct SampleRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Reads "A:B" with A < B, or "A" for one sample.
StatusOr<SampleRange> parseSampleRange(const std::string &text);

struct ShowOptions {
  SampleRange range;
  bool json = false;
  /// Shows text beside the tokens; nullptr: tokens only.
  const tokenizer::Tokenizer *tokenizer = nullptr;
};

/// InvalidArgument if the range passes the end of `source`; nothing is written
/// then.
Status showSamples(const SampleSource &source, const ShowOptions &options,
                   std::ostream &out);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_SHOWSAMPLES_H
