//===- CountWords.h - The words of a corpus ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a tokenizer is trained on: how often each word of some documents
/// occurs. Documents are read as `hocket data prepare` reads them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_COUNTWORDS_H
#define HOCKET_RUNTIME_DATA_TEXT_COUNTWORDS_H

#include "runtime/tokenizer/Train.h"

#include <functional>
#include <string>
#include <vector>

namespace hocket::data {

struct CountOptions {
  std::vector<std::string> inputs; ///< See DocumentReader.h.
  std::string jsonKey = "text";
  tokenizer::WordPattern pattern = tokenizer::WordPattern::Gpt2;
  unsigned threads = 0; ///< 0: WorkerPool::defaultCount().
  size_t chunkBytes = size_t(4) << 20;
};

/// `progress`, if set, is called with the bytes of input that are done and
/// those of all, by one thread at a time. InvalidArgument as prepare(). Memory:
/// the distinct words, once a thread.
StatusOr<tokenizer::WordCounts>
countWords(const CountOptions &options,
           const std::function<void(uint64_t, uint64_t)> &progress = {});

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_COUNTWORDS_H
