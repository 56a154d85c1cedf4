//===- VocabularyReader.h - Vocabularies and merges -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts that tokenizer.json shares with vocab.json, merges.txt and
/// vocab.txt. The large ones are read member by member, never as a tree.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_VOCABULARYREADER_H
#define HOCKET_RUNTIME_TOKENIZER_VOCABULARYREADER_H

#include "runtime/tokenizer/BytePairMerges.h"
#include "runtime/tokenizer/text/SourceText.h"
#include "runtime/tokenizer/text/Vocabulary.h"

#include <string>
#include <string_view>

namespace hocket::tokenizer {

/// Where the JSON text `part` of a file is no JSON.
Status wrongJson(const SourceText &file, std::string_view part);

/// {"string": number, ...}, as it stands.
StatusOr<Vocabulary> readJsonVocabulary(const SourceText &file,
                                        std::string_view object);

/// A string a line, numbered from 0.
StatusOr<Vocabulary> readLineVocabulary(const SourceText &file);

/// The vocabulary with the bytes that its strings stand for. Strings that stand
/// for none are left out: such are added tokens.
Vocabulary toBytes(const Vocabulary &characters);

/// ["left right", ...] or [["left", "right"], ...] over the strings of a file.
StatusOr<BytePairMerges> readJsonMerges(const SourceText &file,
                                        std::string_view array,
                                        const Vocabulary &characters);

/// merges.txt: "left right" a line; a first line "#version..." is skipped.
StatusOr<BytePairMerges> readLineMerges(const SourceText &file,
                                        const Vocabulary &characters);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_VOCABULARYREADER_H
