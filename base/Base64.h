//===- Base64.h - Bytes as text of 64 characters ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// RFC 4648, section 4: A-Z, a-z, 0-9, '+' and '/', filled up with '=' to whole
/// groups of four.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_BASE64_H
#define HOCKET_BASE_BASE64_H

#include "base/Status.h"

#include <string>
#include <string_view>

namespace hocket {

std::string encodeBase64(std::string_view bytes);

/// The bytes of which encodeBase64() makes `text`; InvalidArgument, with what
/// is wrong and where, if there are none: no other character, white space
/// included, is skipped, nothing may be left out, and unused bits are 0.
StatusOr<std::string> decodeBase64(std::string_view text);

} // namespace hocket

#endif // HOCKET_BASE_BASE64_H
