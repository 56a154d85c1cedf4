//===- Tokenizer.cpp - Text to tokens and back ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Tokenizer.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::data;

namespace {

class ByteTokenizer : public Tokenizer {
public:
  std::string name() const override { return "byte"; }
  uint64_t vocabularySize() const override { return 257; }
  int32_t endOfDocument() const override { return 256; }

  void encode(std::string_view text,
              std::vector<int32_t> &tokens) const override {
    size_t begin = tokens.size();
    tokens.resize(begin + text.size());
    std::transform(text.begin(), text.end(), tokens.begin() + begin,
                   [](char c) { return int32_t(uint8_t(c)); });
  }

  std::string decode(std::span<const int32_t> tokens) const override;
  size_t splitPoint(std::string_view text) const override;
};

} // namespace

std::string ByteTokenizer::decode(std::span<const int32_t> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (int32_t token : tokens) {
    if (token >= 0 && token < 256)
      text.push_back(char(token));
    else if (token != endOfDocument())
      text += "\xef\xbf\xbd";
  }
  return text;
}

/// Keeps a character that may be incomplete for the next part.
size_t ByteTokenizer::splitPoint(std::string_view text) const {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    auto byte = uint8_t(text[text.size() - back]);
    if (byte < 0x80)
      break;
    if (byte >= 0xc0)
      return text.size() - back;
  }
  return text.size();
}

StatusOr<std::unique_ptr<Tokenizer>>
data::createTokenizer(const std::string &name) {
  if (name == "byte")
    return std::unique_ptr<Tokenizer>(std::make_unique<ByteTokenizer>());
  return invalidArgument("expected the tokenizer byte, found '" + name + "'");
}
