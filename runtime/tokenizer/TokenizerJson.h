//===- TokenizerJson.h - Reads tokenizer.json -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Hugging Face's tokenizer.json with a byte-level BPE or a WordPiece model.
/// What a file asks for and this tree does not do is an error, never ignored,
/// save truncation and padding, which are not of a tokenizer.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TOKENIZERJSON_H
#define HOCKET_RUNTIME_TOKENIZER_TOKENIZERJSON_H

#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/text/SourceText.h"

namespace hocket::tokenizer {

StatusOr<std::unique_ptr<Tokenizer>> readTokenizerJson(const SourceText &file);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TOKENIZERJSON_H
