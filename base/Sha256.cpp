//===- Sha256.cpp - The SHA-256 digest ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"

#include <algorithm>
#include <cstring>

using namespace hocket;

static void consume(Sha256State &state, const uint8_t *blocks, size_t count) {
  static Sha256Rounds *const rounds =
      nativeSha256Rounds() ? nativeSha256Rounds() : portableSha256Rounds;
  rounds(state, blocks, count);
}

void Sha256::update(const void *data, size_t size) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  totalSize += size;
  while (size > 0) {
    if (pendingSize == 0 && size >= 64) {
      consume(state, bytes, size / 64);
      bytes += size / 64 * 64, size %= 64;
      continue;
    }
    size_t taken = std::min(size, size_t(64) - pendingSize);
    std::memcpy(pending.data() + pendingSize, bytes, taken);
    pendingSize += taken, bytes += taken, size -= taken;
    if (pendingSize == 64) {
      consume(state, pending.data(), 1);
      pendingSize = 0;
    }
  }
}

Sha256::Digest Sha256::finish() {
  // Section 5.1.1: a one bit, zeros, and the length in bits as 64 bits.
  uint64_t bits = totalSize * 8;
  uint8_t padding[72] = {0x80};
  size_t zeros = (119 - totalSize % 64) % 64;
  for (int i = 0; i < 8; ++i)
    padding[1 + zeros + i] = uint8_t(bits >> (56 - 8 * i));
  update(padding, 1 + zeros + 8);
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Sha256::Digest Sha256::of(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.finish();
}

std::string hocket::toHex(std::string_view bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string hocket::toHex(const Sha256::Digest &digest) {
  return toHex(std::string_view(reinterpret_cast<const char *>(digest.data()),
                                digest.size()));
}
