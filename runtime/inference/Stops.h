//===- Stops.h - Where a text ends ------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_STOPS_H
#define HOCKET_RUNTIME_INFERENCE_STOPS_H

#include "runtime/tokenizer/Tokenizer.h"

#include <functional>

namespace hocket::inference {

/// Where a text ends, however many tokens may be written.
struct Stops {
  std::vector<std::string> texts; ///< Before the first of these.
  /// At one of these, which are no part of the text (EndTokens.h).
  std::vector<int32_t> tokens;
};

/// Where the first of the stop strings is in `text`; npos: nowhere.
size_t findStop(const std::string &text, const std::vector<std::string> &stops);

/// The bytes that `written` adds behind the token `before`, which decides
/// whether a word that begins them stands behind a space.
std::string textBehind(const tokenizer::Tokenizer &tokenizer, int32_t before,
                       std::span<const int32_t> written);

/// Of textBehind() what stands before the first stop string and before the
/// token that ended it, as valid UTF-8.
std::string textBeforeStop(const tokenizer::Tokenizer &tokenizer,
                           int32_t before, std::span<const int32_t> written,
                           const Stops &stops);

/// For GenerateRequest::ends of a prompt that ends with `before`.
std::function<bool(std::span<const int32_t>)>
endsAt(const std::shared_ptr<const tokenizer::Tokenizer> &tokenizer,
       int32_t before, Stops stops);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_STOPS_H
