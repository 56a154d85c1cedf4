//===- WikiText.h - Text as it was before it was tokenized ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// WikiText is distributed cut into words, with spaces around punctuation, in
/// which no model was trained to write. Models are measured on the text put
/// together again, and the figure is told for each word of the original, so
/// that vocabularies can be compared.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EVALUATE_WIKITEXT_H
#define HOCKET_RUNTIME_EVALUATE_WIKITEXT_H

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::evaluate {

/// The rules that Megatron-LM applies to WikiText, in its order; text that is
/// not UTF-8 is taken as bytes.
std::string joinWikiText(std::string_view text);

/// Words as Megatron-LM counts them: what single spaces divide, once white
/// space at both ends is gone.
uint64_t countSpacedWords(std::string_view text);

} // namespace hocket::evaluate

#endif // HOCKET_RUNTIME_EVALUATE_WIKITEXT_H
