//===- TextStream.h - Text as it is written ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_TEXTSTREAM_H
#define HOCKET_RUNTIME_INFERENCE_TEXTSTREAM_H

#include "runtime/inference/Stops.h"

namespace hocket::inference {

/// Says what each token adds to a text, whole characters at a time (U+FFFD for
/// bytes that are part of none: toValidUtf8) and nothing
/// that may turn out to be the beginning of a stop string. All that it says,
/// put together, is textBeforeStop() of the tokens.
class TextStream {
public:
  /// `tokenizer` outlives the stream; `before` is the prompt's last token.
  TextStream(const tokenizer::Tokenizer &tokenizer, int32_t before, Stops stops)
      : tokenizer(tokenizer), before(before), stops(std::move(stops)) {}

  std::string add(int32_t token);

  /// What is left, once there is no more token.
  std::string finish();

private:
  std::string sayUpTo(const std::string &text, size_t end);

  const tokenizer::Tokenizer &tokenizer;
  const int32_t before;
  const Stops stops;
  std::vector<int32_t> tokens;
  size_t said = 0;
};

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_TEXTSTREAM_H
