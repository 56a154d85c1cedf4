//===- Gemm.cpp - GEMMs on the CPU ----------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Gemm.h"

#include "kernels/cpu/simd/Kernels.h"

#include <algorithm>

namespace hocket::kernels {
namespace {

/// How D is cut into tiles: `rows` x `columns` of them.
struct Tiling {
  int64_t rows, columns;
};

/// Wide tiles repack A less often, tall ones B; and there should be several
/// for each worker. Tiles do not change the result.
Tiling chooseTiling(const GemmArguments &args, int64_t workers) {
  Tiling tiling{divideUp(args.m, kMostTileRows),
                divideUp(args.n, kMostTileColumns)};
  int64_t wanted = workers > 1 ? 4 * workers : 1;
  while (tiling.rows * tiling.columns < wanted) {
    if (args.n / tiling.columns >= 512 || args.m / tiling.rows <= 64) {
      if (args.n / tiling.columns < 64)
        break;
      tiling.columns *= 2;
    } else {
      tiling.rows *= 2;
    }
  }
  return tiling;
}

/// The tile at (i, j); columns are cut at multiples of 32.
GemmTile tileAt(const GemmArguments &args, Tiling tiling, int64_t i,
                int64_t j) {
  int64_t panels = divideUp(args.n, 32);
  GemmTile tile;
  tile.row = args.m * i / tiling.rows;
  tile.rows = args.m * (i + 1) / tiling.rows - tile.row;
  tile.column = panels * j / tiling.columns * 32;
  tile.columns = panels * (j + 1) / tiling.columns * 32 - tile.column;
  return tile;
}

KernelError checkTypes(const GemmArguments &args) {
  if (KernelError error = checkProcessor())
    return error;
  if (KernelError error = checkOperandTypes(args.a.dtype, args.b.dtype))
    return error;
  if (args.preactivation || args.biasGradient)
    return "gemm: derivatives and bias gradients are epilogues on GPUs only; "
           "compile the program for this machine (--target cpu)";
  bool narrow = isF8(args.a.dtype) && isF8(args.b.dtype);
  if (narrow && args.packedB)
    return "gemm: there is no packed form of 8-bit elements";
  bool known =
      (narrow || (isFloating(args.a.dtype) && isFloating(args.b.dtype))) &&
      isFloating(args.d.dtype) && isFloating(args.bias.dtype) &&
      isFloating(args.auxiliary.dtype) && isFloating(args.residual.dtype);
  return known ? nullptr : "gemm: an element type is not f32, bf16 or f16";
}

} // namespace

KernelError gemm(const GemmArguments &call, Workers &workers) {
  if (KernelError error = checkTypes(call))
    return error;
  GemmArguments args = call;
  args.alpha = scaledAlpha(call);
  if (args.m <= 0 || args.n <= 0)
    return nullptr;
  Tiling tiling = chooseTiling(args, workers.count());
  GemmTileFn compute = gemmKernelsOf(workers).tile;
  // Neighbouring tasks share a column of tiles, so B's panels stay in cache.
  auto task = [&](int64_t index, int worker) {
    GemmTile tile =
        tileAt(args, tiling, index % tiling.rows, index / tiling.rows);
    if (tile.rows > 0 && tile.columns > 0)
      compute(args, tile, workers.scratch(worker).data());
  };
  workers.run(tiling.rows * tiling.columns, task);
  return nullptr;
}

KernelError gemmPack(const GemmPackArguments &args, Workers &workers) {
  if (!isFloating(args.b.dtype))
    return "gemm_pack: an element type is not f32, bf16 or f16";
  if (KernelError error = checkProcessor())
    return error;
  auto pack = gemmKernelsOf(workers).pack;
  auto task = [&](int64_t panel, int) { pack(args, panel); };
  workers.run(divideUp(args.n, 32), task);
  return nullptr;
}

} // namespace hocket::kernels
