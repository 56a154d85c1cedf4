//===- Hopper.cuh - Warpgroup MMAs ------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// wgmma of sm_90a: the 128 threads of a warpgroup multiply a 64 x 16 matrix,
/// in shared memory or in registers, by one of 16 x N in shared memory, while
/// they go on. Sums are f32; of a thread of warp w of its group, with g = lane
/// / 4 and t = lane % 4,
///
///   c[j][0], c[j][1]   row 16 w + g,      columns 8 j + 2t, 8 j + 2t + 1
///   c[j][2], c[j][3]   row 16 w + g + 8,  the same
///
/// and a matrix in registers lies as in Mma.cuh, 16 rows a warp (PTX ISA,
/// "Asynchronous warpgroup level matrix instructions").
///
/// A matrix in shared memory is a SwizzledTile: blocks of 64 columns, 128 bytes
/// a row, the 16-byte vectors of row r in the order of vector ^ (r % 8)
/// ("128-byte swizzle"), so that eight rows of a column of vectors lie in
/// different banks.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_HOPPER_CUH
#define HOCKET_KERNELS_CUDA_HOPPER_CUH

#include "kernels/cuda/Mma.cuh"

/// Whether wgmma can be compiled here.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(HOCKET_EMULATED)
#define HOCKET_HOPPER 1
#endif

namespace hocket::cuda {

//===----------------------------------------------------------------------===//
// Matrices in shared memory
//===----------------------------------------------------------------------===//

/// wgmma's descriptor of a matrix: its first element, and two distances in
/// bytes.
struct MatrixDescriptor {
#ifdef HOCKET_EMULATED
  const char *start;
  int leading, stride;
#else
  unsigned long long bits;
#endif
};

/// That of a matrix `vectors` times 16 bytes behind `start`, which is a
/// multiple of 16 bytes. Only the lower word depends on where that is, by a
/// sum: from one MMA to the next an addition is all that is left, which the
/// short ones would else wait for.
HOCKET_DEVICE MatrixDescriptor matrixDescriptor(const void *start, int vectors,
                                                int leading, int stride) {
#ifdef HOCKET_EMULATED
  return {static_cast<const char *>(start) + 16 * vectors, leading, stride};
#else
  auto at = static_cast<unsigned>(__cvta_generic_to_shared(start));
  unsigned low = (at & 0x3ffff) / 16 + (leading / 16 << 16) + vectors;
  unsigned swizzle128 = 1u << 30, high = stride / 16 | swizzle128;
  return {static_cast<unsigned long long>(high) << 32 | low};
#endif
}

/// Rows (a multiple of 8) of Columns (a multiple of 64) two-byte elements, at a
/// multiple of 1024 bytes.
template <class T, int Rows, int Columns> struct SwizzledTile {
  static constexpr int blockBytes = Rows * 128;
  static constexpr int bytes = blockBytes * (Columns / 64);

  char *start;

  /// The 16 bytes of columns 8 * vector .. of a row.
  HOCKET_MEMBER void *vector(int row, int vector) const {
    return start + vector / 8 * blockBytes + row * 128 +
           ((vector ^ row) & 7) * 16;
  }

  /// As the operand whose rows are the tile's, and whose 16 deep are columns
  /// column ..; the first row is a multiple of 8.
  HOCKET_MEMBER MatrixDescriptor rows(int row, int column) const {
    return matrixDescriptor(
        start, column / 64 * (blockBytes / 16) + row * 8 + column % 64 / 8, 16,
        1024);
  }
  /// As the operand whose 16 deep are rows row .., a multiple of 8, and whose
  /// columns are the tile's from `column` on, a multiple of 64.
  HOCKET_MEMBER MatrixDescriptor columns(int row, int column) const {
    return matrixDescriptor(start, column / 64 * (blockBytes / 16) + row * 8,
                            blockBytes, 1024);
  }
};

/// The first multiple of 1024 bytes from `shared` on.
HOCKET_DEVICE char *alignTiles(float *shared) {
  auto at = reinterpret_cast<unsigned long long>(shared);
  return reinterpret_cast<char *>(shared) + ((at + 1023) / 1024 * 1024 - at);
}

/// Between what this thread writes into a tile and MMAs, or
/// TMA, that meet it there must be this, then a barrier.
HOCKET_DEVICE void fenceProxyAsync() {
#ifdef HOCKET_EMULATED
  hocket_emulator.fenceProxyAsync();
#else
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#ifdef HOCKET_HOPPER

//===----------------------------------------------------------------------===//
// MMAs
//===----------------------------------------------------------------------===//

#ifndef HOCKET_EMULATED

// Operands of asm: four sums, and those of N columns; "+" or "=" says whether
// they are read.
#define HOCKET_SUMS(how, d, j)                                                 \
  how "f"(d[j][0]), how "f"(d[j][1]), how "f"(d[j][2]), how "f"(d[j][3])
#define HOCKET_SUMS_64(how, d)                                                 \
  HOCKET_SUMS(how, d, 0), HOCKET_SUMS(how, d, 1), HOCKET_SUMS(how, d, 2),      \
      HOCKET_SUMS(how, d, 3), HOCKET_SUMS(how, d, 4), HOCKET_SUMS(how, d, 5),  \
      HOCKET_SUMS(how, d, 6), HOCKET_SUMS(how, d, 7)
#define HOCKET_SUMS_128(how, d)                                                \
  HOCKET_SUMS_64(how, d), HOCKET_SUMS(how, d, 8), HOCKET_SUMS(how, d, 9),      \
      HOCKET_SUMS(how, d, 10), HOCKET_SUMS(how, d, 11),                        \
      HOCKET_SUMS(how, d, 12), HOCKET_SUMS(how, d, 13),                        \
      HOCKET_SUMS(how, d, 14), HOCKET_SUMS(how, d, 15)
#define HOCKET_SUMS_256(how, d)                                                \
  HOCKET_SUMS_128(how, d), HOCKET_SUMS(how, d, 16), HOCKET_SUMS(how, d, 17),   \
      HOCKET_SUMS(how, d, 18), HOCKET_SUMS(how, d, 19),                        \
      HOCKET_SUMS(how, d, 20), HOCKET_SUMS(how, d, 21),                        \
      HOCKET_SUMS(how, d, 22), HOCKET_SUMS(how, d, 23),                        \
      HOCKET_SUMS(how, d, 24), HOCKET_SUMS(how, d, 25),                        \
      HOCKET_SUMS(how, d, 26), HOCKET_SUMS(how, d, 27),                        \
      HOCKET_SUMS(how, d, 28), HOCKET_SUMS(how, d, 29),                        \
      HOCKET_SUMS(how, d, 30), HOCKET_SUMS(how, d, 31)
#define HOCKET_LIST_64                                                         \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "     \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "     \
  "%30, %31"
#define HOCKET_LIST_128                                                        \
  HOCKET_LIST_64                                                               \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "   \
  "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, "     \
  "%60, %61, %62, %63"
#define HOCKET_LIST_256                                                        \
  HOCKET_LIST_128                                                              \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, "             \
  "%76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, "               \
  "%88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, "               \
  "%100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "               \
  "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, "               \
  "%120, %121, %122, %123, %124, %125, %126, %127"

/// One instruction, with what it reads beside the sums.
#define HOCKET_WGMMA(N, TYPE, how, d, A, B, MORE, ADDS, ...)                   \
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, " #ADDS ", 0;\n"        \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE \
               " {" HOCKET_LIST_##N "}, " A ", " B ", adds, 1, 1" MORE ";\n}"  \
               : HOCKET_SUMS_##N(how, d)                                       \
               : __VA_ARGS__)
#define HOCKET_WGMMA_SHARED(N, TYPE, how, d, O0, O1, O2, O3, ADDS)             \
  HOCKET_WGMMA(N, TYPE, how, d, O0, O1, ", " O2 ", " O3, ADDS, "l"(a.bits),    \
               "l"(b.bits), "n"(AIsDeep ? 0 : 1), "n"(BIsDeep ? 0 : 1))

/// Sums of N columns = or += a b, with `a` in shared memory or in registers.
/// The operands behind the sums are O0, O1, ..
#define HOCKET_DEFINE_WGMMA(T, TYPE, N, O0, O1, O2, O3, O4, O5)                \
  template <bool AIsDeep, bool BIsDeep, bool Adds>                             \
  HOCKET_DEVICE void wgmma(T, float(&d)[N / 8][4], MatrixDescriptor a,         \
                           MatrixDescriptor b) {                               \
    if constexpr (Adds)                                                        \
      HOCKET_WGMMA_SHARED(N, TYPE, "+", d, O0, O1, O2, O3, 1);                 \
    else                                                                       \
      HOCKET_WGMMA_SHARED(N, TYPE, "=", d, O0, O1, O2, O3, 0);                 \
  }                                                                            \
  template <bool BIsDeep>                                                      \
  HOCKET_DEVICE void wgmma(T, float(&d)[N / 8][4], const unsigned(&a)[4],      \
                           MatrixDescriptor b) {                               \
    HOCKET_WGMMA(N, TYPE, "+", d, "{" O0 ", " O1 ", " O2 ", " O3 "}", O4,      \
                 ", " O5, 1, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]),       \
                 "l"(b.bits), "n"(BIsDeep ? 0 : 1));                           \
  }

HOCKET_DEFINE_WGMMA(bf16, "bf16", 64, "%32", "%33", "%34", "%35", "%36", "%37")
HOCKET_DEFINE_WGMMA(bf16, "bf16", 128, "%64", "%65", "%66", "%67", "%68", "%69")
HOCKET_DEFINE_WGMMA(bf16, "bf16", 256, "%128", "%129", "%130", "%131", "%132",
                    "%133")
HOCKET_DEFINE_WGMMA(f16, "f16", 64, "%32", "%33", "%34", "%35", "%36", "%37")
HOCKET_DEFINE_WGMMA(f16, "f16", 128, "%64", "%65", "%66", "%67", "%68", "%69")
HOCKET_DEFINE_WGMMA(f16, "f16", 256, "%128", "%129", "%130", "%131", "%132",
                    "%133")

#undef HOCKET_DEFINE_WGMMA
#undef HOCKET_WGMMA_SHARED
#undef HOCKET_WGMMA
#undef HOCKET_LIST_256
#undef HOCKET_LIST_128
#undef HOCKET_LIST_64
#undef HOCKET_SUMS_256
#undef HOCKET_SUMS_128
#undef HOCKET_SUMS_64
#undef HOCKET_SUMS

#endif // HOCKET_EMULATED

/// The number of the thread's warpgroup in its block. The compiler learns that
/// a warp has one: MMAs must not be where it sees lanes part.
HOCKET_DEVICE int warpgroup() {
  return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 128), 0);
}

/// What a number, which is not negative, is made of is computed before what
/// follows: no compiler moves it past the branch.
HOCKET_DEVICE void computeBefore(float number) {
#ifndef HOCKET_EMULATED
  if (number < 0)
    asm volatile("nanosleep.u32 0;" ::: "memory"); // Never.
#endif
}

/// The MMAs that a thread's warpgroup has under way. Every thread of the
/// group must make the same calls. Between begin() and the wait() for them,
/// sums and registers that MMAs use may not be touched, nor tiles written.
class Wgmma {
public:
  /// What registers hold is there for MMAs from here on.
  HOCKET_MEMBER void begin() {
#ifdef HOCKET_EMULATED
    queue.begin();
#else
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
  }

  /// Begins sums = a b, or, if it Adds, sums += a b. AIsDeep, BIsDeep: the
  /// operand is a tile's rows(), else its columns().
  template <class T, bool AIsDeep, bool BIsDeep, bool Adds, int NTiles>
  HOCKET_MEMBER void add(float (&sums)[NTiles][4], MatrixDescriptor a,
                         MatrixDescriptor b) {
#ifdef HOCKET_EMULATED
    queue.template add<T, NTiles>(
        &sums[0][0], {a.start, a.leading, a.stride, AIsDeep}, nullptr,
        {b.start, b.leading, b.stride, BIsDeep}, Adds);
#else
    wgmma<AIsDeep, BIsDeep, Adds>(T(), sums, a, b);
#endif
  }
  /// Begins sums += a b with `a` in registers.
  template <class T, bool BIsDeep, int NTiles>
  HOCKET_MEMBER void add(float (&sums)[NTiles][4], const unsigned (&a)[4],
                         MatrixDescriptor b) {
#ifdef HOCKET_EMULATED
    queue.template add<T, NTiles>(
        &sums[0][0], {}, a, {b.start, b.leading, b.stride, BIsDeep}, true);
#else
    wgmma<BIsDeep>(T(), sums, a, b);
#endif
  }

  /// Ends a group of MMAs.
  HOCKET_MEMBER void commit() {
#ifdef HOCKET_EMULATED
    queue.commit();
#else
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
  }

  /// Waits until at most the last Left groups are under way, without a need of
  /// their sums.
  template <int Left> HOCKET_MEMBER void wait() {
#ifdef HOCKET_EMULATED
    queue.wait(Left);
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
#endif
  }

  /// The same, of those that gave `sums`.
  template <int Left, int NTiles>
  HOCKET_MEMBER void wait(float (&sums)[NTiles][4]) {
    wait<Left>();
#ifndef HOCKET_EMULATED
    // Else the compiler could read them before.
#pragma unroll
    for (int j = 0; j < NTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        asm volatile("" : "+f"(sums[j][i])::"memory");
#endif
  }

private:
#ifdef HOCKET_EMULATED
  emulator::WgmmaQueue queue;
#endif
};

#endif // HOCKET_HOPPER

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_HOPPER_CUH
