//===- ByteLevel.h - Bytes as printable characters --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files of a byte-level vocabulary write each byte as one character: those
/// that are printable in Latin-1 as themselves, the other 68 as U+0100 and on.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_BYTELEVEL_H
#define HOCKET_RUNTIME_TOKENIZER_BYTELEVEL_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hocket::tokenizer {

/// The code point that stands for a byte.
uint32_t characterOfByte(uint8_t byte);

/// `bytes` as a file writes them.
std::string toByteLevel(std::string_view bytes);

/// The bytes that `text` stands for, or nullopt if it has a character that
/// stands for none.
std::optional<std::string> fromByteLevel(std::string_view text);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_BYTELEVEL_H
