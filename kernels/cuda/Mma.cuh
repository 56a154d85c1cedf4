//===- Mma.cuh - Tensor cores and the copies that feed them -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MMAs of 16 x 16 by 16 x 8 fragments in bf16 or f16 with f32 sums
/// (mma.m16n8k16), loads of fragments from shared memory (ldmatrix), and
/// asynchronous copies from global to shared memory (cp.async): sm_80 and
/// later. With g = lane / 4 and t = lane % 4 a thread holds
///
///   a[0], a[2]   row g,      columns 2t, 2t + 1 and those 8 further on
///   a[1], a[3]   row g + 8,  the same
///   b[0], b[1]   rows 2t, 2t + 1 and those 8 further on, column g
///   c[0], c[1]   row g,      columns 2t, 2t + 1
///   c[2], c[3]   row g + 8,  the same
///
/// (PTX ISA, "Matrix Fragments for mma.m16n8k16"); two elements to a word.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_MMA_CUH
#define HOCKET_KERNELS_CUDA_MMA_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

/// Two neighbouring elements of a fragment, to nearest even.
template <class T> HOCKET_DEVICE unsigned packPair(float low, float high);
template <>
HOCKET_MEMBER unsigned packPair<bf16>(float low, float high) {
#ifdef HOCKET_EMULATED
  return fromFloat<bf16>(low).bits | unsigned(fromFloat<bf16>(high).bits) << 16;
#else
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}
template <> HOCKET_MEMBER unsigned packPair<f16>(float low, float high) {
#ifdef HOCKET_EMULATED
  return fromFloat<f16>(low).bits | unsigned(fromFloat<f16>(high).bits) << 16;
#else
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}

//===----------------------------------------------------------------------===//
// MMAs
//===----------------------------------------------------------------------===//

/// c += a b. Every lane of the warp must call it.
template <class T>
HOCKET_DEVICE void multiplyAdd(float (&c)[4], const unsigned (&a)[4],
                               unsigned b0, unsigned b1);

#ifdef HOCKET_EMULATED
template <class T>
HOCKET_DEVICE void multiplyAdd(float (&c)[4], const unsigned (&a)[4],
                               unsigned b0, unsigned b1) {
  emulator::multiplyAdd<T>(c, a, b0, b1);
}
#else
template <>
HOCKET_MEMBER void
multiplyAdd<bf16>(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                  unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
HOCKET_MEMBER void multiplyAdd<f16>(float (&c)[4],
                                                 const unsigned (&a)[4],
                                                 unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

//===----------------------------------------------------------------------===//
// Shared memory to fragments
//===----------------------------------------------------------------------===//

/// Four 8 x 8 matrices of two-byte elements: lane l gives the address of row
/// l % 8 of matrix l / 8 (16 bytes, aligned) and gets, of each, the words at
/// row g, columns 2t, 2t + 1; transposed: of rows 2t, 2t + 1, column g.
HOCKET_DEVICE void loadMatrices(unsigned (&words)[4], const void *row) {
#ifdef HOCKET_EMULATED
  emulator::loadMatrices(words, row, /*transposed=*/false);
#else
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
      : "r"(at)
      : "memory");
#endif
}
HOCKET_DEVICE void loadTransposed(unsigned (&words)[4], const void *row) {
#ifdef HOCKET_EMULATED
  emulator::loadMatrices(words, row, /*transposed=*/true);
#else
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
      : "r"(at)
      : "memory");
#endif
}

//===----------------------------------------------------------------------===//
// Global to shared memory
//===----------------------------------------------------------------------===//

/// Begins to copy 16 aligned bytes, or to write 16 zeros where `exists` is
/// false. The bytes are there after waitForCopies and a barrier.
HOCKET_DEVICE void copyLater(void *to, const void *from, bool exists) {
#ifdef HOCKET_EMULATED
  hocket_emulator.copyLater(to, exists ? from : nullptr);
#else
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  int bytes = exists ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at),
               "l"(from), "r"(bytes)
               : "memory");
#endif
}

/// Ends a group of this thread's copies.
HOCKET_DEVICE void commitCopies() {
#ifdef HOCKET_EMULATED
  hocket_emulator.commitCopies();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the last `Left` groups of this thread are under way.
template <int Left> HOCKET_DEVICE void waitForCopies() {
#ifdef HOCKET_EMULATED
  hocket_emulator.waitForCopies(Left);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
#endif
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_MMA_CUH
