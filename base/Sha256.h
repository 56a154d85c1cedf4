//===- Sha256.h - The SHA-256 digest ----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// SHA-256 as FIPS 180-4 defines it. Used to notice damage and to name
/// content, not as a protection against an attacker who can rewrite a file.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_SHA256_H
#define HOCKET_BASE_SHA256_H

#include "base/Sha256Blocks.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket {

/// The digest of a byte stream that arrives in chunks.
class Sha256 {
public:
  using Digest = std::array<uint8_t, 32>;

  /// Appends `size` bytes.
  void update(const void *data, size_t size);

  /// The digest of all bytes so far. Call once; the object is spent then.
  Digest finish();

  /// The digest of one string of bytes.
  static Digest of(std::string_view bytes);

private:
  Sha256State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending = {};
  size_t pendingSize = 0;
  uint64_t totalSize = 0;
};

/// Lower-case hexadecimal, two characters a byte.
std::string toHex(std::string_view bytes);
std::string toHex(const Sha256::Digest &digest);

} // namespace hocket

#endif // HOCKET_BASE_SHA256_H
