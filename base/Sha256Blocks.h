//===- Sha256Blocks.h - The rounds of SHA-256 -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// FIPS 180-4, section 6.2.2, over whole blocks of 64 bytes. Checkpoints are
/// digested as a whole whenever they are read or written, so this is most of
/// what starting a model takes.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_SHA256BLOCKS_H
#define HOCKET_BASE_SHA256BLOCKS_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace hocket {

using Sha256State = std::array<uint32_t, 8>;
using Sha256Rounds = void(Sha256State &state, const uint8_t *blocks,
                          size_t count);

/// On any processor.
Sha256Rounds portableSha256Rounds;

/// With x86's SHA instructions; nullptr where this processor has none.
Sha256Rounds *nativeSha256Rounds();

} // namespace hocket

#endif // HOCKET_BASE_SHA256BLOCKS_H
