//===- TensorMap.h - Emulated tensor maps -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the 128 bytes of a CUtensorMap hold on the emulated GPU: that which
/// cuTensorMapEncodeTiled() is told, once it has been checked.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_TENSORMAP_H
#define HOCKET_TEST_EMULATOR_TENSORMAP_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace hocket::emulator {

/// The arguments of cuTensorMapEncodeTiled(), with the numbers of cuda.h.
struct TensorMapRequest {
  int dataType = 0;
  unsigned rank = 0;
  const void *address = nullptr;
  const unsigned long long *sizes = nullptr;   ///< Elements; `rank` of them.
  const unsigned long long *strides = nullptr; ///< Bytes; but the innermost.
  const unsigned *box = nullptr, *elementStrides = nullptr;
  int interleave = 0, swizzle = 0, l2Promotion = 0, fill = 0;
};

class TensorMap {
public:
  static constexpr unsigned mostDimensions = 5;
  static constexpr size_t bytes = 128; ///< of a CUtensorMap

  /// Writes the `bytes` at `map`. Empty, or which rule of the documentation
  /// of cuTensorMapEncodeTiled() is broken.
  static std::string encode(const TensorMapRequest &request, void *map);

  /// What is at `map`; null if it is no tensor map.
  static const TensorMap *at(const void *map);

  unsigned rank() const { return dimensions; }
  size_t boxBytes() const;
  /// What places of boxes in shared memory are multiples of.
  size_t alignment() const { return swizzle ? 1024 : 128; }

  /// Neighbouring bytes, 16 at most: where in global memory they are, or null
  /// for zeros, and where they go.
  struct Vector {
    const std::byte *from;
    std::byte *to;
    size_t bytes;
  };
  /// Calls `use` for each vector of the box at `place`, which goes to `to`.
  void forEachVector(const int *place, std::byte *to,
                     const std::function<void(const Vector &)> &use) const;

private:
  /// The same for the vectors of a row, all of it without if it is outside.
  void forEachOfRow(int first, const std::byte *row, std::byte *to,
                    const std::function<void(const Vector &)> &use) const;
  static constexpr uint32_t mark = 0x70616d74;

  uint32_t known; ///< mark
  uint8_t dimensions, elementBytes, swizzle;
  const std::byte *start;
  uint64_t sizes[mostDimensions];
  uint64_t strides[mostDimensions]; ///< Bytes, the innermost, too.
  uint16_t box[mostDimensions];
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_TENSORMAP_H
