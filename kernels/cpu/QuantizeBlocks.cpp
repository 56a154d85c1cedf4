//===- QuantizeBlocks.cpp - 8 bits with a scale a block, on the CPU -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/QuantizeBlocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace hocket::kernels {

namespace {

/// Columns that a task has at least, if there are as many, and the most scales
/// of a row of them.
constexpr int64_t kTaskColumns = 512;

/// The elements of a task: all rows of a row of blocks, some of its columns.
struct Tile {
  int64_t firstRow, endRow, firstColumn, endColumn; ///< rows of the whole
  int64_t firstScale;
};

/// The tasks of a tensor.
class Tiles {
public:
  explicit Tiles(const BlockShape &shape)
      : shape(shape),
        blocks(std::max<int64_t>(1, kTaskColumns / shape.blockColumns)),
        across((shape.across() + blocks - 1) / blocks) {}

  int64_t count() const { return shape.outer * shape.down() * across; }

  Tile tile(int64_t task) const {
    int64_t part = task % across, band = task / across;
    int64_t outer = band / shape.down();
    int64_t first = band % shape.down() * shape.blockRows;
    int64_t column = part * blocks * shape.blockColumns;
    int64_t base = outer * shape.rows;
    return {base + first, base + std::min(shape.rows, first + shape.blockRows),
            column,
            std::min(shape.columns, column + blocks * shape.blockColumns),
            band * shape.across() + part * blocks};
  }

private:
  const BlockShape &shape;
  int64_t blocks, across; ///< blocks of a task, tasks of a row of blocks
};

float wide(float x) { return x; }

struct Bf16 {
  uint16_t bits;
};
float wide(Bf16 x) { return bf16ToFloat(x.bits); }
void narrow(float x, Bf16 &to) { to.bits = floatToBf16(x); }

struct F16 {
  uint16_t bits;
};
float wide(F16 x) { return f16ToFloat(x.bits); }
void narrow(float x, F16 &to) { to.bits = floatToF16(x); }
void narrow(float x, float &to) { to = x; }

/// Calls `use` with a null pointer to the type that `dtype`'s elements have.
template <typename Use> void withType(DType dtype, const Use &use) {
  if (dtype == DType::F32)
    use(static_cast<float *>(nullptr));
  else if (dtype == DType::BF16)
    use(static_cast<Bf16 *>(nullptr));
  else
    use(static_cast<F16 *>(nullptr));
}

/// Magnitudes are compared as bits: those of NaN are above infinity's.
template <typename T>
void quantizeTile(const QuantizeBlocksArguments &args, const Tile &tile) {
  const BlockShape &shape = args.shape;
  auto *x = static_cast<const T *>(args.x.data);
  auto *codes = static_cast<uint8_t *>(args.codes.data);
  std::array<uint32_t, kTaskColumns> greatest{};
  auto blocksOfRow = [&](const auto &use) {
    int64_t block = 0;
    for (int64_t c = tile.firstColumn; c < tile.endColumn;
         c += shape.blockColumns, ++block)
      use(block, c, std::min(tile.endColumn, c + shape.blockColumns));
  };
  for (int64_t row = tile.firstRow; row < tile.endRow; ++row)
    blocksOfRow([&](int64_t block, int64_t first, int64_t end) {
      uint32_t most = greatest[block];
      for (int64_t i = row * shape.columns + first,
                   last = row * shape.columns + end;
           i < last; ++i)
        most =
            std::max(most, std::bit_cast<uint32_t>(wide(x[i])) & 0x7fffffffu);
      greatest[block] = most;
    });
  uint32_t exponent = largestExponent(args.codes.dtype);
  std::array<float, kTaskColumns> inverse;
  blocksOfRow([&](int64_t block, int64_t, int64_t) {
    uint32_t scale = blockScaleBits(greatest[block], exponent);
    args.scales[tile.firstScale + block] = std::bit_cast<float>(scale);
    inverse[block] = std::bit_cast<float>(inverseScaleBits(scale));
  });
  F8Format format = args.codes.dtype == DType::F8E4M3 ? kE4M3 : kE5M2;
  for (int64_t row = tile.firstRow; row < tile.endRow; ++row)
    blocksOfRow([&](int64_t block, int64_t first, int64_t end) {
      for (int64_t i = row * shape.columns + first,
                   last = row * shape.columns + end;
           i < last; ++i)
        codes[i] = floatToF8(wide(x[i]) * inverse[block], format);
    });
}

/// The numbers of all codes of a format.
std::array<float, 256> numbersOf(DType format) {
  std::array<float, 256> numbers;
  for (int code = 0; code < 256; ++code)
    numbers[code] = format == DType::F8E4M3 ? e4m3ToFloat(uint8_t(code))
                                            : e5m2ToFloat(uint8_t(code));
  return numbers;
}

template <typename T>
void dequantizeTile(const DequantizeBlocksArguments &args, const Tile &tile,
                    const std::array<float, 256> &numbers) {
  const BlockShape &shape = args.shape;
  auto *codes = static_cast<const uint8_t *>(args.codes.data);
  auto *y = static_cast<T *>(args.y.data);
  for (int64_t row = tile.firstRow; row < tile.endRow; ++row) {
    const float *scale = args.scales + tile.firstScale;
    for (int64_t c = tile.firstColumn; c < tile.endColumn;
         c += shape.blockColumns, ++scale) {
      int64_t end = std::min(tile.endColumn, c + shape.blockColumns);
      for (int64_t i = row * shape.columns + c,
                   last = row * shape.columns + end;
           i < last; ++i)
        narrow(numbers[codes[i]] * *scale, y[i]);
    }
  }
}

/// Tasks are put together until they have some thousands of elements.
template <typename Run>
void runTiles(const BlockShape &shape, Workers &workers, const Run &run) {
  Tiles tiles(shape);
  int64_t each = std::max<int64_t>(1, 32 / shape.blockRows);
  auto task = [&](int64_t index, int) {
    int64_t end = std::min(tiles.count(), (index + 1) * each);
    for (int64_t i = index * each; i < end; ++i)
      run(tiles.tile(i));
  };
  workers.run((tiles.count() + each - 1) / each, task);
}

} // namespace

KernelError quantizeBlocks(const QuantizeBlocksArguments &args,
                           Workers &workers) {
  withType(args.x.dtype, [&](auto *type) {
    runTiles(args.shape, workers, [&](const Tile &tile) {
      quantizeTile<std::remove_pointer_t<decltype(type)>>(args, tile);
    });
  });
  return nullptr;
}

KernelError dequantizeBlocks(const DequantizeBlocksArguments &args,
                             Workers &workers) {
  std::array<float, 256> numbers = numbersOf(args.codes.dtype);
  withType(args.y.dtype, [&](auto *type) {
    runTiles(args.shape, workers, [&](const Tile &tile) {
      dequantizeTile<std::remove_pointer_t<decltype(type)>>(args, tile,
                                                            numbers);
    });
  });
  return nullptr;
}

} // namespace hocket::kernels
