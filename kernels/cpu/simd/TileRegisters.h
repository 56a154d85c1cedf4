//===- TileRegisters.h - AMX tile registers ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The eight tiles of AMX, 16 rows of 64 bytes each, and their product of
/// bf16 pairs. With HOCKET_EMULATED_TILES they are plain memory, so that what
/// is built on them can be tested on any machine.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_TILEREGISTERS_H
#define HOCKET_KERNELS_CPU_SIMD_TILEREGISTERS_H

#include "kernels/cpu/simd/Vector.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

#ifndef HOCKET_EMULATED_TILES

/// Makes all tiles 16 x 64 bytes on this thread, until released.
class TileUse {
public:
  TileUse() {
    struct alignas(64) {
      uint8_t palette = 1, startRow = 0, reserved[14] = {};
      uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    static_assert(sizeof(config) == 64);
    _tile_loadconfig(&config);
  }
  ~TileUse() { _tile_release(); }
  TileUse(const TileUse &) = delete;
  TileUse &operator=(const TileUse &) = delete;
};

// Macros, because a tile's number must be a literal.
#define HOCKET_TILE_ZERO(t) _tile_zero(t)
#define HOCKET_TILE_LOAD(t, from, stride) _tile_loadd(t, from, stride)
#define HOCKET_TILE_STORE(t, to, stride) _tile_stored(t, to, stride)
#define HOCKET_TILE_DOT(d, a, b) _tile_dpbf16ps(d, a, b)

#else

struct EmulatedTile {
  alignas(64) uint16_t halves[16][32];
  float sums[16][16];
};
EmulatedTile emulatedTiles[8]; // one thread only
struct TileUse {
  TileUse() {}
  ~TileUse() {}
};

void emulatedLoad(EmulatedTile &t, const void *from, int64_t stride) {
  for (int64_t r = 0; r < 16; ++r) {
    auto *row = static_cast<const char *>(from) + r * stride;
    __builtin_memcpy(t.halves[r], row, 64);
    __builtin_memcpy(t.sums[r], row, 64);
  }
}
void emulatedStore(const EmulatedTile &t, void *to, int64_t stride) {
  for (int64_t r = 0; r < 16; ++r)
    __builtin_memcpy(static_cast<char *>(to) + r * stride, t.sums[r], 64);
}
/// The operation of TDPBF16PS in Intel's manual.
void emulatedDot(EmulatedTile &d, const EmulatedTile &a,
                 const EmulatedTile &b) {
  for (int64_t m = 0; m < 16; ++m)
    for (int64_t k = 0; k < 16; ++k)
      for (int64_t n = 0; n < 16; ++n)
        for (int64_t half : {0, 1})
          d.sums[m][n] += bf16ToFloat(a.halves[m][2 * k + half]) *
                          bf16ToFloat(b.halves[k][2 * n + half]);
}

#define HOCKET_TILE_ZERO(t) emulatedTiles[t] = {}
#define HOCKET_TILE_LOAD(t, from, stride)                                      \
  emulatedLoad(emulatedTiles[t], from, stride)
#define HOCKET_TILE_STORE(t, to, stride)                                       \
  emulatedStore(emulatedTiles[t], to, stride)
#define HOCKET_TILE_DOT(d, a, b)                                               \
  emulatedDot(emulatedTiles[d], emulatedTiles[a], emulatedTiles[b])

#endif

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_TILEREGISTERS_H
