//===- JsonDefect.h - Where a JSON text goes wrong --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// simdjson says that a text is no JSON, not where. These functions read such
/// a text a second time, slowly and without recursion, to say what was
/// expected at which byte. They decide nothing: simdjson has decided.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_JSON_JSONDEFECT_H
#define HOCKET_BASE_JSON_JSONDEFECT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

struct JsonDefect {
  size_t offset;        ///< In bytes, from 0.
  std::string expected; ///< "expected ',' or '}'" without "expected ".
};

/// The first place where `text` is no JSON (RFC 8259), or is nested deeper
/// than 1,024 levels.
std::optional<JsonDefect> findJsonDefect(std::string_view text);

/// The byte at which the value of the `occurrence`th member `key` of the
/// top-level object begins; keys that are written with escapes are not found.
std::optional<size_t> findJsonMember(std::string_view text,
                                     std::string_view key,
                                     unsigned occurrence = 0);

/// "PATH:LINE:COLUMN" of the byte at `offset` of `text`, which begins in line
/// `line` of `path`.
std::string placeInFile(const std::string &path, std::string_view text,
                        size_t offset, uint64_t line = 1);

/// The first byte that does not belong to valid UTF-8, or text.size().
size_t findInvalidUtf8(std::string_view text);

/// `text` with U+FFFD in place of each byte that does not belong to valid
/// UTF-8: parts of a text that no character crosses give those of the whole.
std::string toValidUtf8(std::string_view text);

} // namespace hocket

#endif // HOCKET_BASE_JSON_JSONDEFECT_H
