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

/// Room for packed panels of B in the scratch of each worker, and behind it for
/// sums.
constexpr int64_t kPanelsOffset = kGemmPrivateBytes;
constexpr int64_t kPanelsBytes = int64_t(1728) << 10;
constexpr int64_t kSumsOffset = kPanelsOffset + kPanelsBytes;
constexpr int64_t kSumsBytes = int64_t(kScratchBytesPerWorker) - kSumsOffset;
static_assert(kSumsBytes >= gemmSumBytes(kMostTileRows, kMostTileColumns));

constexpr int64_t kPanel = 32;
/// Panels that are packed together: a row of a plain B is then long enough for
/// the memory system to read well.
constexpr int64_t kPanelsAtOnce = 4;
/// Fewer columns at a time pack A too often.
constexpr int64_t kEnoughColumns = 512;
/// Fewer rows of a task read a panel too often.
constexpr int64_t kFewestRows = 28;
/// Tasks for each worker that are worth having: one that is late then holds up
/// the others by little.
constexpr int64_t kTasksOfWorker = 4;

/// `n` in as few parts of at most `most` as there can be, equal but for the
/// last one, multiples of `unit`.
int64_t evenPart(int64_t n, int64_t most, int64_t unit) {
  most = std::max(most / unit * unit, unit);
  int64_t parts = std::max<int64_t>(divideUp(n, most), 1);
  return divideUp(divideUp(n, parts), unit) * unit;
}

/// A GEMM in the order of Goto and van de Geijn: of D, blocks of `rows` x
/// `columns`; of each, parts of k; of each, op(B)'s part is packed once, by all
/// workers, and then tiles of D are computed, each by one worker that packs its
/// part of A. Where k is one part a block has all rows.
class BlockedGemm {
public:
  BlockedGemm(const GemmArguments &args, Workers &workers)
      : args(args), workers(workers), kernels(gemmKernelsOf(workers)),
        format(kernels.format(args)) {
    chooseParts();
    chooseTiles();
  }

  void run() {
    SharedPieces panels(workers, kPanelsOffset, kPanelsBytes,
                        format.bytesOfPanel(std::max<int64_t>(depth, 1)));
    for (int64_t row = 0; row < args.m; row += rows)
      for (int64_t column = 0; column < args.n; column += columns)
        // At least one part, so that an empty sum still reaches D.
        for (int64_t k = 0; k < std::max<int64_t>(args.k, 1); k += depth) {
          PackedPart part{panels,
                          column,
                          std::min(columns, args.n - column),
                          {k, std::min(depth, args.k - k)}};
          if (format.packs)
            pack(part);
          multiply(part, row);
        }
  }

private:
  /// How much of op(B) is packed at a time.
  void chooseParts() {
    int64_t all = divideUp(args.n, kPanel) * kPanel;
    depth = std::max<int64_t>(args.k, 1), columns = all;
    if (!format.packs)
      return;
    int64_t fitting = panelsOf(depth) * kPanel;
    if (fitting >= std::min(all, kEnoughColumns)) {
      columns = evenPart(all, fitting, kPanel);
      return;
    }
    columns = evenPart(all, kMostTileColumns, kPanel);
    depth = format.depth;
    while (panelsOf(depth + format.depth) * kPanel >= columns)
      depth += format.depth;
    depth = evenPart(args.k, depth, format.depth);
  }

  /// Panels of this depth that fit into the scratch of all workers.
  int64_t panelsOf(int64_t k) const {
    return kPanelsBytes / format.bytesOfPanel(k) * workers.count();
  }

  void chooseTiles() {
    tileColumns = evenPart(columns, kMostTileColumns, kPanel);
    int64_t blocks = divideUp(columns, tileColumns);
    tileRows = evenPart(args.m, kMostTileRows, format.rows);
    for (int64_t each = kTasksOfWorker; each > 0; --each) {
      int64_t parts = divideUp(each * workers.count(), blocks);
      if (divideUp(args.m, parts) < kFewestRows)
        continue;
      tileRows = std::min(
          tileRows, evenPart(args.m, divideUp(args.m, parts), format.rows));
      break;
    }
    // Few rows: the columns are shared out.
    int64_t rowTiles = divideUp(args.m, tileRows);
    if (rowTiles * blocks < workers.count() && workers.count() > 1)
      tileColumns =
          evenPart(columns,
                   divideUp(columns, divideUp(kTasksOfWorker * workers.count(),
                                              rowTiles)),
                   kPanel);
    rows = args.m;
    if (depth < args.k) {
      // The sums of a block stay until all of k is added.
      int64_t held = sums().count() / divideUp(columns, tileColumns);
      rows = std::max<int64_t>(held, 1) * tileRows;
    }
  }

  SharedPieces sums() const {
    return {workers, kSumsOffset, kSumsBytes,
            gemmSumBytes(tileRows, tileColumns)};
  }

  void pack(const PackedPart &part) {
    int64_t groups = divideUp(part.columns, kPanelsAtOnce * kPanel);
    int64_t blocks = divideUp(part.depth.size, format.depth);
    auto task = [&](int64_t index, int) {
      int64_t at = index / groups * format.depth;
      DepthRange block{part.depth.begin + at,
                       std::min(format.depth, part.depth.size - at)};
      kernels.packPanels(args, part,
                         part.column + index % groups * kPanelsAtOnce * kPanel,
                         block);
    };
    workers.run(groups * blocks, task);
  }

  /// The tiles of the block whose first row is `first`.
  void multiply(const PackedPart &part, int64_t first) {
    SharedPieces sums = this->sums();
    int64_t endRow = std::min(first + rows, args.m);
    int64_t endColumn = part.column + part.columns;
    int64_t down = divideUp(endRow - first, tileRows);
    bool keeps = depth < args.k;
    auto task = [&](int64_t index, int worker) {
      GemmTile tile;
      tile.row = first + index % down * tileRows;
      tile.rows = std::min(tileRows, endRow - tile.row);
      tile.column = part.column + index / down * tileColumns;
      tile.columns = std::min(tileColumns, endColumn - tile.column);
      std::byte *scratch = workers.scratch(worker).data();
      std::byte *own = keeps ? sums[index] : scratch + kSumsOffset;
      kernels.multiply(args, tile, part, reinterpret_cast<float *>(own),
                       scratch);
    };
    workers.run(down * divideUp(endColumn - part.column, tileColumns), task);
  }

  const GemmArguments &args;
  Workers &workers;
  const GemmKernels &kernels;
  GemmFormat format;
  int64_t rows = 0, columns = 0, depth = 0; ///< of a block and a part of it
  int64_t tileRows = 0, tileColumns = 0;
};

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
  if (auto *compute = gemmKernelsOf(workers).fewRows(args)) {
    int64_t tasks = workers.count() > 1 ? kTasksOfWorker * workers.count() : 1;
    int64_t width = evenPart(args.n, divideUp(args.n, tasks), kPanel);
    auto task = [&](int64_t index, int worker) {
      GemmTile tile{0, args.m, index * width, 0};
      tile.columns = std::min(width, args.n - tile.column);
      compute(args, tile, workers.scratch(worker).data());
    };
    workers.run(divideUp(args.n, width), task);
    return nullptr;
  }
  BlockedGemm(args, workers).run();
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
