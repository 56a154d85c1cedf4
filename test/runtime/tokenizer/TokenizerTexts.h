//===- TokenizerTexts.h - Texts that tokenizers are held to -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The texts of texts.py, to the byte, and its digest of token numbers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_TOKENIZER_TOKENIZERTEXTS_H
#define HOCKET_TEST_RUNTIME_TOKENIZER_TOKENIZERTEXTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::test {

/// SplitMix64.
class TextNumbers {
public:
  explicit TextNumbers(uint64_t seed) : state(seed) {}
  uint64_t below(uint64_t limit);

private:
  uint64_t state;
};

std::string randomText(TextNumbers &numbers);

/// The code points that Unicode 14 has, surrogates aside; settled, those of 3.2
/// that are of the same kind still.
std::vector<uint32_t> codePoints(bool settled);
std::string codePointText(uint32_t code);

const std::vector<std::string> &languageTexts();

std::string digestOf(const std::vector<std::vector<int32_t>> &lists);

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_TOKENIZER_TOKENIZERTEXTS_H
