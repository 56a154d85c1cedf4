//===- TensorMap.cpp - Emulated tensor maps -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/TensorMap.h"

#include <array>
#include <cstring>
#include <new>

using namespace hocket::emulator;

namespace {

constexpr size_t mapAlignment = 64;
constexpr unsigned swizzle128 = 3;

/// Bytes of an element by CUtensorMapDataType; without packed types.
constexpr std::array<unsigned, 13> elementSizes = {1, 2, 4, 4, 8, 8, 2,
                                                   4, 8, 2, 4, 4, 4};

std::string checkSizes(const TensorMapRequest &r, unsigned elementBytes) {
  for (unsigned i = 0; i < r.rank; ++i) {
    if (r.sizes[i] == 0 || r.sizes[i] > uint64_t(1) << 32)
      return "a size is 0 or greater than 2^32";
    if (r.box[i] == 0 || r.box[i] > 256)
      return "a side of the box is 0 or greater than 256";
    if (r.elementStrides[i] == 0 || r.elementStrides[i] > 8)
      return "an element stride is 0 or greater than 8";
    if (r.elementStrides[i] != 1)
      return "the emulator has no element strides but 1";
  }
  uint64_t inner = r.sizes[0] * elementBytes;
  for (unsigned i = 0; i + 1 < r.rank; ++i) {
    if (r.strides[i] % 16 != 0 || r.strides[i] >= uint64_t(1) << 40)
      return "a stride is no multiple of 16 or not less than 2^40";
    if (r.strides[i] < inner || (i > 0 && r.strides[i] % r.strides[i - 1] != 0))
      return "a stride does not include the one before it";
    inner = r.strides[i] * r.sizes[i + 1];
  }
  return "";
}

std::string check(const TensorMapRequest &r, const void *map) {
  if (reinterpret_cast<uintptr_t>(map) % mapAlignment != 0)
    return "the tensor map is not aligned to 64 bytes";
  if (r.dataType < 0 || size_t(r.dataType) >= elementSizes.size())
    return "no such data type";
  if (r.rank == 0 || r.rank > TensorMap::mostDimensions)
    return "a rank is from 1 to 5";
  if (reinterpret_cast<uintptr_t>(r.address) % 16 != 0)
    return "the address is not aligned to 16 bytes";
  if (r.interleave != 0)
    return "the emulator has no interleaved tensors";
  unsigned elementBytes = elementSizes[size_t(r.dataType)];
  if (std::string error = checkSizes(r, elementBytes); !error.empty())
    return error;
  unsigned inner = r.box[0] * elementBytes;
  if (inner % 16 != 0)
    return "rows of the box are no multiple of 16 bytes";
  if (r.swizzle != 0 && r.swizzle != int(swizzle128))
    return "the emulator has no swizzle but that of 128 bytes";
  if (r.swizzle != 0 && inner > 128)
    return "rows of the box are longer than the swizzle";
  if (r.l2Promotion < 0 || r.l2Promotion > 3)
    return "no such promotion";
  return r.fill == 0 ? "" : "the emulator fills with zeros alone";
}

} // namespace

std::string TensorMap::encode(const TensorMapRequest &r, void *map) {
  static_assert(sizeof(TensorMap) <= TensorMap::bytes);
  if (std::string error = check(r, map); !error.empty())
    return error;
  std::memset(map, 0, TensorMap::bytes);
  auto *made = new (map) TensorMap();
  made->known = mark;
  made->dimensions = uint8_t(r.rank);
  made->elementBytes = uint8_t(elementSizes[size_t(r.dataType)]);
  made->swizzle = uint8_t(r.swizzle);
  made->start = static_cast<const std::byte *>(r.address);
  for (unsigned i = 0; i < r.rank; ++i) {
    made->sizes[i] = r.sizes[i];
    made->strides[i] = i == 0 ? made->elementBytes : r.strides[i - 1];
    made->box[i] = uint16_t(r.box[i]);
  }
  return "";
}

const TensorMap *TensorMap::at(const void *map) {
  const auto *found = static_cast<const TensorMap *>(map);
  bool good = reinterpret_cast<uintptr_t>(map) % mapAlignment == 0 &&
              found->known == mark;
  return good ? found : nullptr;
}

size_t TensorMap::boxBytes() const {
  size_t bytes = elementBytes;
  for (unsigned i = 0; i < dimensions; ++i)
    bytes *= box[i];
  return bytes;
}

void TensorMap::forEachOfRow(
    int first, const std::byte *row, std::byte *to,
    const std::function<void(const Vector &)> &use) const {
  constexpr size_t vectorBytes = 16;
  size_t step = vectorBytes / elementBytes;
  auto exists = [&](int64_t at) {
    return row && at >= 0 && uint64_t(at) < sizes[0];
  };
  for (size_t k = 0; k < box[0]; k += step) {
    auto address = reinterpret_cast<uintptr_t>(to + k * elementBytes);
    if (swizzle == swizzle128)
      address ^= (address >> 7 & 7) << 4;
    auto *place = reinterpret_cast<std::byte *>(address);
    // A tensor may end in the middle of a vector.
    bool whole =
        exists(first + int64_t(k)) == exists(first + int64_t(k + step) - 1);
    size_t each = whole ? step : 1;
    for (size_t j = 0; j < step; j += each) {
      int64_t at = first + int64_t(k + j);
      use({exists(at) ? row + at * elementBytes : nullptr,
           place + j * elementBytes, each * elementBytes});
    }
  }
}

void TensorMap::forEachVector(
    const int *place, std::byte *to,
    const std::function<void(const Vector &)> &use) const {
  size_t inner = box[0] * elementBytes, rows = boxBytes() / inner;
  for (size_t row = 0; row < rows; ++row) {
    // Where the row is along the dimensions but the innermost.
    bool exists = true;
    int64_t offset = 0;
    for (size_t i = 1, rest = row; i < dimensions; rest /= box[i], ++i) {
      int64_t at = place[i] + int64_t(rest % box[i]);
      exists &= at >= 0 && uint64_t(at) < sizes[i];
      offset += at * int64_t(strides[i]);
    }
    forEachOfRow(place[0], exists ? start + offset : nullptr, to + row * inner,
                 use);
  }
}
