//===- Device.cuh - What every CUDA kernel of Hocket starts from *- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Element types and their conversions, 16-byte accesses, reductions of a row
/// by warps and blocks. Compiled by NVRTC (no header of the CUDA toolkit is
/// needed), by nvcc, and for the host by the emulator of the tests, which
/// defines HOCKET_EMULATED and the built-in names of CUDA C++.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_DEVICE_CUH
#define HOCKET_KERNELS_CUDA_DEVICE_CUH

#include "kernels/cuda/Faults.cuh"
#include "kernels/cuda/Geometry.cuh"

#define HOCKET_DEVICE static __device__ __forceinline__
#define HOCKET_MEMBER __device__ __forceinline__

/// Declares `name`, the block's dynamic shared memory as floats.
#ifdef HOCKET_EMULATED
#define HOCKET_DYNAMIC_SHARED(name)                                            \
  float *const name = static_cast<float *>(hocket_emulator.dynamicShared)
#else
#define HOCKET_DYNAMIC_SHARED(name) extern __shared__ __align__(16) float name[]
#endif

namespace hocket::cuda {

using Integer = long long;

/// What a launch passes beside the buffers: [0] seed, [1] step,
/// [2] microbatch, [3] whether sums are added to what the results hold,
/// [4 + i] instance i.
template <int N> struct Scalars {
  Integer at[N];
};

/// Tells the host that the data is not what it should be.
HOCKET_DEVICE void report(unsigned *fault, Fault found) {
  atomicMax(fault, static_cast<unsigned>(found));
}

/// a / b of numbers that are not negative: 32-bit division is five times as
/// fast, and nearly all numbers are that small.
HOCKET_DEVICE Integer quotient(Integer a, Integer b) {
  if (((a | b) >> 32) == 0)
    return static_cast<unsigned>(a) / static_cast<unsigned>(b);
  return a / b;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Two-byte floating-point numbers as they lie in memory.
struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};

HOCKET_DEVICE float toFloat(float x) { return x; }
HOCKET_DEVICE float toFloat(bf16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
HOCKET_DEVICE float toFloat(f16 x) {
#ifdef HOCKET_EMULATED
  return emulator::halfToFloat(x.bits);
#else
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
#endif
}

/// To nearest even.
template <class T> HOCKET_DEVICE T fromFloat(float x);
template <> HOCKET_MEMBER float fromFloat<float>(float x) { return x; }
template <> HOCKET_MEMBER bf16 fromFloat<bf16>(float x) {
#ifdef HOCKET_EMULATED
  return {emulator::floatToBrain(x)};
#else
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#endif
}
template <> HOCKET_MEMBER f16 fromFloat<f16>(float x) {
#ifdef HOCKET_EMULATED
  return {emulator::floatToHalf(x)};
#else
  f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
#endif
}

// One-byte floating-point numbers. From sm_89 on the GPU converts them itself,
// two at a time; the code in integers gives the same bits.
#if defined(HOCKET_EMULATED) || __CUDA_ARCH__ < 890
#define HOCKET_F8_IN_INTEGERS
#endif

/// No infinities, one NaN (0x7f), up to 448.
struct e4m3 {
  static constexpr int mantissa = 3, bias = 7;
  static constexpr unsigned largest = 0x7e;
  unsigned char bits;
};
/// The upper half of an f16; up to 57344.
struct e5m2 {
  static constexpr int mantissa = 2, bias = 15;
  static constexpr unsigned largest = 0x7b;
  unsigned char bits;
};

/// Two numbers as they lie in memory, the first in the lower byte. To nearest
/// even; what is larger than the largest finite number, infinity too, becomes
/// that. NaN becomes 0x7f.
template <class T> HOCKET_DEVICE unsigned pairOf(float low, float high);

#ifdef HOCKET_F8_IN_INTEGERS
template <class T> HOCKET_DEVICE unsigned f8CodeOf(float x) {
  unsigned magnitude = __float_as_uint(x) & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return 0x7f;
  constexpr int shift = 23 - T::mantissa;
  constexpr unsigned leastNormal = (128u - T::bias) << 23;
  // A number whose last bit is worth a subnormal's least step.
  constexpr unsigned aligned = (128u - T::bias + shift) << 23;
  unsigned code = 0;
  if (magnitude < leastNormal)
    code =
        __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(aligned)) -
        aligned;
  else
    code = (magnitude + ((1u << (shift - 1)) - 1) + (magnitude >> shift & 1) -
            ((127u - T::bias) << 23)) >>
           shift;
  return (__float_as_uint(x) >> 24 & 0x80u) |
         (code < T::largest ? code : T::largest);
}
template <class T> HOCKET_DEVICE unsigned pairOf(float low, float high) {
  return f8CodeOf<T>(low) | f8CodeOf<T>(high) << 8;
}

HOCKET_DEVICE float toFloat(e4m3 x) {
  unsigned sign = (x.bits & 0x80u) << 24, magnitude = x.bits & 0x7fu;
  if (magnitude == 0x7f)
    return __uint_as_float(0x7fffffffu);
  // The same bits in an f32 stand for 2^-120 of the number, subnormals too.
  return __uint_as_float(sign | magnitude << 20) * 0x1p120f;
}
HOCKET_DEVICE float toFloat(e5m2 x) {
  unsigned sign = (x.bits & 0x80u) << 24, magnitude = x.bits & 0x7fu;
  if (magnitude >= 0x7c)
    return __uint_as_float(magnitude == 0x7c ? sign | 0x7f800000u
                                             : 0x7fffffffu);
  return __uint_as_float(sign | magnitude << 21) * 0x1p112f;
}
#else
// The instruction's first source goes to the upper byte.
template <> HOCKET_MEMBER unsigned pairOf<e4m3>(float low, float high) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(pair)
      : "f"(high), "f"(low));
  return pair;
}
template <> HOCKET_MEMBER unsigned pairOf<e5m2>(float low, float high) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;"
      : "=h"(pair)
      : "f"(high), "f"(low));
  return pair;
}

HOCKET_DEVICE float toFloat(e4m3 x) {
  unsigned halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;"
      : "=r"(halves)
      : "h"(static_cast<unsigned short>(x.bits)));
  return toFloat(f16{static_cast<unsigned short>(halves)});
}
HOCKET_DEVICE float toFloat(e5m2 x) {
  return toFloat(f16{static_cast<unsigned short>(x.bits << 8)});
}
#endif

template <> HOCKET_MEMBER e4m3 fromFloat<e4m3>(float x) {
  return {static_cast<unsigned char>(pairOf<e4m3>(x, 0))};
}
template <> HOCKET_MEMBER e5m2 fromFloat<e5m2>(float x) {
  return {static_cast<unsigned char>(pairOf<e5m2>(x, 0))};
}

/// The greater or lesser of two; NaN if one is (fmaxf would drop it).
HOCKET_DEVICE float maximum(float a, float b) {
#ifdef HOCKET_EMULATED
  return a != a ? a : b != b ? b : fmaxf(a, b);
#else
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#endif
}
HOCKET_DEVICE float minimum(float a, float b) {
#ifdef HOCKET_EMULATED
  return a != a ? a : b != b ? b : fminf(a, b);
#else
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#endif
}

constexpr float kLog2e = 1.44269504f;

/// 2^x to 22 bits, and 0 where that is subnormal (PTX ISA, "ex2"): one
/// instruction. For subnormal results exp2f has three more.
HOCKET_DEVICE float powerOfTwo(float x) {
#ifdef HOCKET_EMULATED
  return x < -126 ? 0.0f : exp2f(x);
#else
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#endif
}

/// The logarithm of x to the base 2, to 22 bits of 1 where x is near 1 (PTX
/// ISA, "lg2"); -infinity of 0 and of subnormal numbers.
HOCKET_DEVICE float logarithmOfTwo(float x) {
#ifdef HOCKET_EMULATED
  return log2f(x < 0x1p-126f ? 0.0f : x);
#else
  float power;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#endif
}

/// tanh(x) to 22 bits of 1, in two instructions of special functions: where
/// it is small it has fewer bits than tanhf, which has a branch.
HOCKET_DEVICE float tanhNearOne(float x) {
  float below = 1 + powerOfTwo(x * (2 * kLog2e));
#ifdef HOCKET_EMULATED
  float inverse = 1 / below;
#else
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(below));
#endif
  return 1 - 2 * inverse;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// N consecutive elements.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

/// N numbers as elements of T, which has one byte: two at a time.
template <class T, int N>
HOCKET_DEVICE Pack<T, N> narrowed(const float (&numbers)[N]) {
  static_assert(sizeof(T) == 1);
  Pack<T, N> pack;
  if constexpr (N % 4 == 0) {
    auto words = reinterpret_cast<unsigned *>(&pack);
#pragma unroll
    for (int i = 0; i < N; i += 4)
      words[i / 4] = pairOf<T>(numbers[i], numbers[i + 1]) |
                     pairOf<T>(numbers[i + 2], numbers[i + 3]) << 16;
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      pack.at[i] = fromFloat<T>(numbers[i]);
  }
  return pack;
}

template <class T> HOCKET_DEVICE bool isAligned(const T *at, unsigned bytes) {
  return reinterpret_cast<unsigned long long>(at) % bytes == 0;
}

/// N elements from `from` on, of which the first `count` exist; the others
/// read as 0. Whole packs at addresses that allow it are read 16 bytes at a
/// time.
template <int N, class T>
HOCKET_DEVICE Pack<T, N> load(const T *from, Integer count = N) {
  if (count >= N && isAligned(from, alignof(Pack<T, N>)))
    return *reinterpret_cast<const Pack<T, N> *>(from);
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i)
    pack.at[i] = i < count ? from[i] : T();
  return pack;
}

/// Whether all packs that begin whole packs behind `at` may be read at once.
template <int N, class... T> HOCKET_DEVICE bool areAligned(const T *...at) {
  return (isAligned(at, alignof(Pack<T, N>)) && ...);
}
/// A whole pack at such an address.
template <int N, class T> HOCKET_DEVICE Pack<T, N> loadAligned(const T *from) {
  return *reinterpret_cast<const Pack<T, N> *>(from);
}

/// A whole pack at any address.
template <int N, class T> HOCKET_DEVICE Pack<T, N> loadSingly(const T *from) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i)
    pack.at[i] = from[i];
  return pack;
}

/// Stores a pack, 16 bytes at a time if it has as many, where addresses allow
/// that. The compiler would merge plain stores with those of single elements,
/// which need no alignment, into the latter.
template <int N, class T>
HOCKET_DEVICE void storeWhole(T *to, const Pack<T, N> &pack) {
#ifndef HOCKET_EMULATED
  if constexpr (sizeof(pack) % 16 == 0) {
    auto words = reinterpret_cast<const unsigned *>(&pack);
    unsigned long long at = __cvta_generic_to_global(to);
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(pack) / 4); i += 4)
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at + 4 * i),
                   "r"(words[i]), "r"(words[i + 1]), "r"(words[i + 2]),
                   "r"(words[i + 3])
                   : "memory");
    return;
  }
#endif
  *reinterpret_cast<Pack<T, N> *>(to) = pack;
}

/// Stores the first `count` of N elements in global memory.
template <int N, class T>
HOCKET_DEVICE void store(T *to, const Pack<T, N> &pack, Integer count = N) {
  if (count >= N && isAligned(to, alignof(Pack<T, N>))) {
    storeWhole(to, pack);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (i < count)
      to[i] = pack.at[i];
}

/// A row as its packs of 16 aligned bytes, and the elements before and behind
/// them.
template <class T> struct RowVectors {
  static constexpr int width = 16 / sizeof(T);
  Integer packs;
  int before, behind;

  HOCKET_MEMBER RowVectors(const T *row, Integer count) {
    auto past = static_cast<int>(reinterpret_cast<unsigned long long>(row) %
                                 16 / sizeof(T));
    before = past == 0 ? 0 : width - past;
    before = count < before ? static_cast<int>(count) : before;
    packs = (count - before) / width;
    behind = static_cast<int>(count - before - packs * width);
  }
  /// The first element of a pack.
  HOCKET_MEMBER Integer column(Integer pack) const {
    return before + pack * width;
  }
  /// Elements outside of packs, and which one it is.
  HOCKET_MEMBER int singles() const { return before + behind; }
  HOCKET_MEMBER Integer single(int i) const {
    return i < before ? i : packs * width + i;
  }
};

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

struct Add {
  static constexpr unsigned neutralBits = 0; // 0.0
  static HOCKET_MEMBER float of(float a, float b) { return a + b; }
};
struct Max {
  static constexpr unsigned neutralBits = 0xff800000; // -infinity
  static HOCKET_MEMBER float of(float a, float b) { return maximum(a, b); }
};
template <class Op> HOCKET_DEVICE float neutral() {
  return __uint_as_float(Op::neutralBits);
}

/// The reduction over the warp, in every lane. Every lane must call it.
template <class Op> HOCKET_DEVICE float reduceWarp(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x = Op::of(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

/// The reduction over the `Threads` threads of a row, in each of them:
/// a warp, or the whole block. `scratch` holds Threads / 32 floats in shared
/// memory. The order is fixed. Every thread must call it.
template <class Op, int Threads>
HOCKET_DEVICE float reduceRow(float x, float *scratch) {
  x = reduceWarp<Op>(x);
  if constexpr (Threads > 32) {
    __syncthreads(); // The scratch of the last reduction has been read.
    if (threadIdx.x % 32 == 0)
      scratch[threadIdx.x / 32] = x;
    __syncthreads();
    int lane = threadIdx.x % 32;
    x = reduceWarp<Op>(lane < Threads / 32 ? scratch[lane] : neutral<Op>());
  }
  return x;
}

/// The sum over the `Threads` (a power of two) threads of the block, in each of
/// them, in a tree. `scratch` holds as many numbers in shared memory. Every
/// thread must call it.
template <int Threads, class T> HOCKET_DEVICE T sumBlock(T x, T *scratch) {
  int thread = threadIdx.x;
  __syncthreads(); // The scratch of the last reduction has been read.
  scratch[thread] = x;
  for (int distance = Threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (thread < distance)
      scratch[thread] += scratch[thread + distance];
  }
  __syncthreads();
  return scratch[0];
}

/// The sum over the block's `Threads` threads up to and with this one; that of
/// all is in scratch[Threads - 1] until the next use of `scratch`, which holds
/// as many numbers in shared memory. Every thread must call it.
template <int Threads, class T> HOCKET_DEVICE T prefixSum(T x, T *scratch) {
  int thread = threadIdx.x;
  __syncthreads(); // The last sums have been read.
  scratch[thread] = x;
  for (int distance = 1; distance < Threads; distance *= 2) {
    __syncthreads();
    T other = thread >= distance ? scratch[thread - distance] : T(0);
    __syncthreads();
    scratch[thread] += other;
  }
  __syncthreads();
  return scratch[thread];
}

/// Adds the N sums of all `Groups` (a power of two) threads of a lane, in a
/// tree; group 0 has the result. Threads are numbered lane first. `scratch`
/// holds Lanes * Groups * N floats in shared memory. Every thread of the block
/// must call it.
template <int Lanes, int Groups, int N>
HOCKET_DEVICE void reduceGroups(float *sums, float *scratch) {
  int thread = threadIdx.x;
  __syncthreads(); // The scratch of the last reduction has been read.
#pragma unroll
  for (int i = 0; i < N; ++i)
    scratch[thread * N + i] = sums[i];
  for (int groups = Groups / 2; groups > 0; groups /= 2) {
    __syncthreads();
    if (thread >= groups * Lanes)
      continue;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      sums[i] += scratch[(thread + groups * Lanes) * N + i];
      scratch[thread * N + i] = sums[i];
    }
  }
}

template <int N> HOCKET_DEVICE Pack<float, N> packOf(const float *numbers) {
  Pack<float, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i)
    pack.at[i] = numbers[i];
  return pack;
}

/// Whether this block is the last of `blocks` that get here, in each of its
/// threads. It sees what the others have stored in global memory before.
/// `arrived` is 0 before and after a launch. Every thread must call it.
HOCKET_DEVICE bool isLast(unsigned &arrived, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&arrived, 1u) == blocks - 1;
    if (last)
      arrived = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

/// Sums of this group's parts, of which there are `Groups`: group, group +
/// Groups and so on, in order.
template <int Groups, int Parts, int Vectors, int N>
HOCKET_DEVICE void addParts(const Pack<float, N> (&partials)[Parts][Vectors],
                            int vector, int group, float *sums) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    sums[i] = 0;
  auto add = [&](int part) {
    Pack<float, N> one = partials[part][vector];
#pragma unroll
    for (int i = 0; i < N; ++i)
      sums[i] += one.at[i];
  };
  constexpr int rounds = Parts / Groups; // of all groups
#pragma unroll 4
  for (int round = 0; round < rounds; ++round)
    add(round * Groups + group);
  if (Parts % Groups != 0 && rounds * Groups + group < Parts)
    add(rounds * Groups + group);
}

/// Adds the sums of the `Rows` rows of a block, each of `Threads` threads, in
/// their order; the first row's threads have the result. `shared` holds as many
/// floats as a row has sums. Every thread of the block must call it.
template <int Threads, int Rows, int Steps, int N>
HOCKET_DEVICE void joinRows(float (&sums)[Steps][N], float *shared) {
  int row = threadIdx.x / Threads, lane = threadIdx.x % Threads;
  for (int other = 1; other < Rows; ++other) {
    __syncthreads(); // What the last row left has been read.
#pragma unroll
    for (int i = 0; i < Steps * N; ++i)
      if (row == other)
        shared[i * Threads + lane] = sums[i / N][i % N];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Steps * N; ++i)
      if (row == 0)
        sums[i / N][i % N] += shared[i * Threads + lane];
  }
}

/// Stores the sums of the first `Threads` threads, step by step.
template <int Threads, int Steps, int Vectors, int N>
HOCKET_DEVICE void storeSums(const float (&sums)[Steps][N],
                             Pack<float, N> (&to)[Vectors]) {
#pragma unroll
  for (int s = 0; s < Steps; ++s) {
    int vector = s * Threads + static_cast<int>(threadIdx.x);
    if (threadIdx.x < Threads && vector < Vectors)
      storeWhole(to[vector].at, packOf<N>(sums[s]));
  }
}

/// The sum of a vector of the first `count` parts, in their order, of which
/// eight are read at a time.
template <int Vectors, int N>
HOCKET_DEVICE Pack<float, N> sumOfParts(Pack<float, N> (*parts)[Vectors],
                                        int count, Integer vector) {
  constexpr int atOnce = 8;
  Pack<float, N> sum = {};
#pragma unroll 1
  for (int part = 0; part < count; part += atOnce) {
    Pack<float, N> some[atOnce];
#pragma unroll
    for (int i = 0; i < atOnce; ++i)
      some[i] = part + i < count ? parts[part + i][vector] : Pack<float, N>{};
#pragma unroll
    for (int i = 0; i < atOnce * N; ++i)
      sum.at[i % N] += some[i / N].at[i % N];
  }
  return sum;
}

/// The same of all vectors, by the `Threads` threads of the block.
template <int Threads, int Vectors, int N>
HOCKET_DEVICE void sumParts(Pack<float, N> (*parts)[Vectors], int count,
                            Pack<float, N> (&to)[Vectors]) {
  for (int vector = threadIdx.x; vector < Vectors; vector += Threads)
    storeWhole(to[vector].at, sumOfParts(parts, count, vector));
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_DEVICE_CUH
