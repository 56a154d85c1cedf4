//===- ByteCount.h - Numbers of bytes as people write them ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads what formatBytes() (Format.h) writes without its space, and the
/// decimal units beside it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_BYTECOUNT_H
#define HOCKET_BASE_BYTECOUNT_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace hocket {

/// "80GiB", "1.5GB", "4096": a number of bytes. K, M, G, T, P and E are powers
/// of 1,000, and of 1,024 with an i; the B may be left out, and fractions of a
/// byte are. Nothing if it is no such text or beyond 64 bits.
std::optional<uint64_t> parseByteCount(std::string_view text);

} // namespace hocket

#endif // HOCKET_BASE_BYTECOUNT_H
