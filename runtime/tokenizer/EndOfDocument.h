//===- EndOfDocument.h - The token that ends a document ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files of tokenizers do not say which token ended the documents of the
/// model's pre-training; its name does.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_ENDOFDOCUMENT_H
#define HOCKET_RUNTIME_TOKENIZER_ENDOFDOCUMENT_H

#include <array>
#include <string_view>

namespace hocket::tokenizer {

/// The first of these that a vocabulary has ends its documents.
inline constexpr std::array<std::string_view, 6> documentEnds = {
    "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[SEP]"};

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_ENDOFDOCUMENT_H
