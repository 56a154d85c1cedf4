//===- Wgmma.h - Emulated warpgroup MMAs ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// wgmma of two-byte elements on the host, by the layouts of the PTX ISA:
/// matrices in shared memory with the 128-byte swizzle, given by a start and
/// two distances, and fragments in registers. MMAs are computed when they
/// are waited for, so that whoever reads sums, or overwrites operands, too
/// early gets a wrong number. Included by the Prelude; stands alone.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_WGMMA_H
#define HOCKET_TEST_EMULATOR_WGMMA_H

namespace hocket::cuda::emulator {

/// A matrix in shared memory: elements (row, k).
struct SwizzledMatrix {
  const char *start = nullptr;
  int leading = 0, stride = 0;
  bool deep = true; ///< rows of k; else k are rows

  unsigned short at(int row, int k) const {
    long long offset =
        deep ? row / 8 * stride + row % 8 * 128 + k * 2
             : row / 64 * leading + row % 64 * 2 + k / 8 * stride + k % 8 * 128;
    // The hardware swizzles addresses, not offsets.
    auto address = reinterpret_cast<unsigned long long>(start) + offset;
    address ^= (address >> 7 & 7) << 4;
    // MMAs see what threads have written once it has been shown to them.
    auto dynamic =
        reinterpret_cast<unsigned long long>(hocket_emulator.dynamicShared);
    if (address - dynamic < hocket_emulator.dynamicBytes)
      address =
          reinterpret_cast<unsigned long long>(hocket_emulator.dynamicSeen) +
          (address - dynamic);
    return *reinterpret_cast<const unsigned short *>(address);
  }
};

/// What a thread has under way.
class WgmmaQueue {
public:
  /// As wgmma.fence, without which registers that were used since the last
  /// wait() are not there for MMAs.
  void begin() { hasBegun = true; }

  /// Of `a`, or of the fragments of it that lanes hold.
  template <class T, int NTiles>
  void add(float *sums, const SwizzledMatrix &a, const unsigned *fragment,
           const SwizzledMatrix &b, bool adds) {
    if (!hasBegun)
      hocket_emulator.fail("adds an MMA without begin() since it waited");
    Mma &mma = mmas[last++ % most];
    mma = {&compute<T, NTiles>, sums, a,    b, {},
           fragment != nullptr, adds, false};
    for (int i = 0; fragment && i < 4; ++i)
      mma.fragment[i] = fragment[i];
  }

  void commit() {
    if (last > first)
      mmas[(last - 1) % most].endsGroup = true;
  }

  void wait(int left) {
    hasBegun = false;
    int groups = 0;
    for (int i = first; i < last; ++i)
      groups += mmas[i % most].endsGroup;
    // They run beside other warps: tiles may be overwritten meanwhile. One lane
    // alone decides, or some lane would always let the others go first.
    if (groups > left && threadIdx.x % 32 == 0)
      hocket_emulator.hesitate();
    while (groups > left && first < last) {
      Mma &mma = mmas[first++ % most];
      mma.compute(mma);
      groups -= mma.endsGroup;
    }
    // Lanes wait together: none goes on before the others' MMAs.
    __syncwarp();
  }

private:
  static constexpr int most = 64;
  struct Mma {
    void (*compute)(const Mma &mma);
    float *sums;
    SwizzledMatrix a, b;
    unsigned fragment[4];
    bool inRegisters, adds, endsGroup;
  };

  template <class T, int NTiles> static void compute(const Mma &p) {
    unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const auto *all = hocketGather(0xffffffffu, p.fragment);
    int firstRow = threadIdx.x % 128 / 32 * 16;
    auto left = [&](int row, int k) {
      if (!p.inRegisters)
        return toFloat(T{p.a.at(firstRow + row, k)});
      unsigned word = all[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
      return toFloat(T{static_cast<unsigned short>(word >> 16 * (k % 2))});
    };
    for (int half = 0; half < 2; ++half) {
      float row[16];
      for (int k = 0; k < 16; ++k)
        row[k] = left(static_cast<int>(g) + 8 * half, k);
      for (int j = 0; j < NTiles; ++j)
        for (int i = 0; i < 2; ++i) {
          float &sum = p.sums[4 * j + 2 * half + i];
          sum = p.adds ? sum : 0;
          int column = 8 * j + 2 * static_cast<int>(t) + i;
          for (int k = 0; k < 16; ++k)
            sum += row[k] * toFloat(T{p.b.at(column, k)});
        }
    }
  }

  Mma mmas[most];
  int first = 0, last = 0;
  bool hasBegun = false;
};

} // namespace hocket::cuda::emulator

#endif // HOCKET_TEST_EMULATOR_WGMMA_H
