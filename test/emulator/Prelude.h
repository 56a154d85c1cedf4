//===- Prelude.h - CUDA C++ for a host compiler -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Included before a kernel's source when the emulator compiles it for the
/// host: the built-in names of CUDA C++, as far as Hocket's kernels use them.
/// What threads of a block do together goes through `hocket_emulator`, which
/// the loader fills in (Module.h). Stands alone: no header of the standard
/// library, so that a kernel compiles quickly.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_PRELUDE_H
#define HOCKET_TEST_EMULATOR_PRELUDE_H

#include "test/emulator/Calls.h"

#define HOCKET_EMULATED 1

extern "C" {
hocket::emulator::Calls hocket_emulator;
}

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
/// Found by the loader between the symbols that the linker puts around it,
/// and filled with NaN before each block.
#define __shared__ static __attribute__((section("hocket_shared")))

#define threadIdx (hocket_emulator.thread->thread)
#define blockIdx (hocket_emulator.thread->block)
#define blockDim (hocket_emulator.thread->blockSize)
#define gridDim (hocket_emulator.thread->gridSize)

extern "C" {
float fabsf(float), floorf(float), ceilf(float), rintf(float), truncf(float);
float sqrtf(float), expf(float), exp2f(float), expm1f(float), logf(float);
float log2f(float), log1pf(float), tanhf(float), erff(float), sinf(float);
float cosf(float), powf(float, float), copysignf(float, float);
float fmaxf(float, float), fminf(float, float), fmaf(float, float, float);
double exp(double), log(double), sqrt(double), cos(double), sin(double);
}

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}

/// Byte i of the result is that of y, x which nibble i of `selector` names.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(both >> 8 * (selector >> 4 * i & 7) & 0xff)
              << 8 * i;
  return result;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
/// Threads run one at a time.
template <class T> inline T atomicMax(T *to, T x) {
  T before = *to;
  *to = before > x ? before : x;
  return before;
}
template <class T> inline T atomicAdd(T *to, T x) {
  T before = *to;
  *to += x;
  return before;
}

/// Blocks run one after another.
inline void __threadfence() {}
inline void __syncthreads() { hocket_emulator.syncBlock(); }
inline void __syncwarp(unsigned lanes = 0xffffffffu) {
  hocket_emulator.gather(lanes, nullptr, 0);
}
/// The `x` of each lane of `lanes`.
template <class T> inline const T *hocketGather(unsigned lanes, const T &x) {
  return static_cast<const T *>(hocket_emulator.gather(lanes, &x, sizeof(x)));
}
template <class T> inline T __shfl_sync(unsigned lanes, T x, int lane) {
  return hocketGather(lanes, x)[lane];
}
template <class T> inline T __shfl_xor_sync(unsigned lanes, T x, int distance) {
  return hocketGather(lanes, x)[threadIdx.x % 32 ^ distance];
}
inline unsigned __match_any_sync(unsigned lanes, int x) {
  const int *all = hocketGather(lanes, x);
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (all[lane] == x && (lanes >> lane & 1))
      same |= 1u << lane;
  return same;
}
inline unsigned __ballot_sync(unsigned lanes, int vote) {
  const int *all = hocketGather(lanes, vote);
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (all[lane] && (lanes >> lane & 1))
      result |= 1u << lane;
  return result;
}

namespace hocket::cuda::emulator {

inline float halfToFloat(unsigned short bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
inline unsigned short floatToHalf(float x) {
  return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x));
}
/// To nearest even; a NaN becomes the one NaN that the hardware gives.
inline unsigned short floatToBrain(float x) {
  if (x != x)
    return 0x7fff;
  unsigned bits = __float_as_uint(x);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// ldmatrix.x4: word m is of matrix m, whose row r is where lane 8 m + r says.
inline void loadMatrices(unsigned (&words)[4], const void *row,
                         bool transposed) {
  const auto *rows = reinterpret_cast<const unsigned short *const *>(
      hocketGather(0xffffffffu, row));
  unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  for (unsigned m = 0; m < 4; ++m) {
    const unsigned short *const *matrix = rows + 8 * m;
    unsigned low = transposed ? matrix[2 * t][g] : matrix[g][2 * t];
    unsigned high = transposed ? matrix[2 * t + 1][g] : matrix[g][2 * t + 1];
    words[m] = low | high << 16;
  }
}

/// mma.m16n8k16 with two-byte elements T, by the layout in Mma.cuh.
template <class T>
void multiplyAdd(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                 unsigned b1) {
  struct Fragments {
    unsigned a[4], b[2];
  };
  Fragments mine = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
  const Fragments *all = hocketGather(0xffffffffu, mine);
  auto element = [](unsigned word, unsigned k) {
    return toFloat(T{static_cast<unsigned short>(word >> 16 * (k % 2))});
  };
  unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned lower = i / 2, column = 2 * t + i % 2;
    for (unsigned k = 0; k < 16; ++k) {
      unsigned owner = k % 8 / 2, half = k / 8;
      c[i] += element(all[4 * g + owner].a[lower + 2 * half], k) *
              element(all[4 * column + owner].b[half], k);
    }
  }
}

} // namespace hocket::cuda::emulator

#include "test/emulator/Wgmma.h"

namespace hocket::cuda::emulator {

/// Calls `kernel` with the arguments that `pointers` point to, at any address.
template <class T> T argument(void **&pointers) {
  T value;
  __builtin_memcpy(&value, *pointers++, sizeof(T));
  return value;
}
/// How many arguments `kernel` has, then the bytes of each.
template <class... T> const unsigned *sizesOf(void (*)(T...)) {
  static const unsigned sizes[] = {sizeof...(T), sizeof(T)...};
  return sizes;
}
template <class... T> void call(void (*kernel)(T...), void **pointers) {
  // A list in braces is evaluated from left to right.
  struct Bound {
    void (*kernel)(T...);
    Bound(void (*kernel)(T...), const T &...arguments) { kernel(arguments...); }
  };
  Bound{kernel, argument<T>(pointers)...};
}

} // namespace hocket::cuda::emulator

#ifdef HOCKET_EMULATOR_WATCHES
// What a compiler that instruments accesses calls before each of them. Hidden:
// a program that runs under AddressSanitizer has functions of these names too.
#define HOCKET_WATCHED                                                         \
  __attribute__((no_sanitize("kernel-address"), visibility("hidden")))
HOCKET_WATCHED inline void hocketAccess(unsigned long at, unsigned long bytes,
                                        bool writes) {
  if (hocket_emulator.access &&
      !hocket_emulator.access(reinterpret_cast<const void *>(at), bytes,
                              writes))
    hocket_emulator.stop();
}
#define HOCKET_WATCH(bytes)                                                    \
  HOCKET_WATCHED void __asan_load##bytes##_noabort(unsigned long at) {         \
    hocketAccess(at, bytes, false);                                            \
  }                                                                            \
  HOCKET_WATCHED void __asan_store##bytes##_noabort(unsigned long at) {        \
    hocketAccess(at, bytes, true);                                             \
  }
extern "C" {
HOCKET_WATCH(1)
HOCKET_WATCH(2)
HOCKET_WATCH(4)
HOCKET_WATCH(8)
HOCKET_WATCH(16)
HOCKET_WATCHED void __asan_loadN_noabort(unsigned long at,
                                         unsigned long bytes) {
  hocketAccess(at, bytes, false);
}
HOCKET_WATCHED void __asan_storeN_noabort(unsigned long at,
                                          unsigned long bytes) {
  hocketAccess(at, bytes, true);
}
HOCKET_WATCHED void __asan_handle_no_return() {}
HOCKET_WATCHED void *__asan_memcpy(void *to, const void *from,
                                   unsigned long bytes) {
  hocketAccess(reinterpret_cast<unsigned long>(from), bytes, false);
  hocketAccess(reinterpret_cast<unsigned long>(to), bytes, true);
  return __builtin_memcpy(to, from, bytes);
}
HOCKET_WATCHED void *__asan_memset(void *to, int value, unsigned long bytes) {
  hocketAccess(reinterpret_cast<unsigned long>(to), bytes, true);
  return __builtin_memset(to, value, bytes);
}
}
#endif

#endif // HOCKET_TEST_EMULATOR_PRELUDE_H
