//===- TensorCopies.cuh - Tiles that TMA fetches ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What sm_90 has so that some warps fetch tiles and others multiply them: the
/// Tensor Memory Accelerator ("TMA"), which one thread tells to copy a box of a
/// tensor into shared memory, barriers in shared memory on which such copies
/// end, named barriers, and registers that warpgroups hand to each other (PTX
/// ISA, "Asynchronous copy: Tensor copy", "mbarrier", "setmaxnreg"). A tile in
/// a ring of stage buffers goes its way like this:
///
///   producer                              consumers
///   free.wait(phase of the last round)
///   there.expect(bytes)
///   copyBox(tile, map, there, ..)         there.wait(phase of this round)
///                                         multiply, wait for the MMAs
///                                         free.arrive()
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_TENSORCOPIES_CUH
#define HOCKET_KERNELS_CUDA_TENSORCOPIES_CUH

#include "kernels/cuda/Hopper.cuh"

namespace hocket::cuda {

/// A tensor in memory and the boxes of it that are copied, as the driver writes
/// it down (CUtensorMap): a `const __grid_constant__` parameter of a kernel.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

#ifdef HOCKET_HOPPER

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// A barrier in shared memory ("mbarrier"). It is in phase 0, 1, ..; a phase
/// ends when as many threads have arrived as were said to and all bytes that
/// they expect have been copied.
class Mbarrier {
public:
  /// By one thread; then fenceBarrierInit() by it, then a barrier of the block.
  HOCKET_MEMBER void begin(unsigned arrivals) {
#ifdef HOCKET_EMULATED
    hocket_emulator.beginBarrier(&word, arrivals);
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()),
                 "r"(arrivals)
                 : "memory");
#endif
  }

  /// What this thread has read and written before comes before what others do
  /// after their wait().
  HOCKET_MEMBER void arrive() {
#ifdef HOCKET_EMULATED
    hocket_emulator.arrive(&word, 0);
#else
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address())
                 : "memory");
#endif
  }
  /// The same, and the phase waits for that many bytes of copies.
  HOCKET_MEMBER void expect(unsigned bytes) {
#ifdef HOCKET_EMULATED
    hocket_emulator.arrive(&word, bytes);
#else
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     address()),
                 "r"(bytes)
                 : "memory");
#endif
  }

  /// Waits for the end of a phase, which is the present one or the one before
  /// it; before any has ended, phase -1 has.
  HOCKET_MEMBER void wait(int phase) {
#ifdef HOCKET_EMULATED
    hocket_emulator.awaitPhase(&word, phase & 1);
#else
    while (!hasEnded(phase)) {
    }
#endif
  }

  /// Its address in shared memory, for copies.
#ifdef HOCKET_EMULATED
  HOCKET_MEMBER void *address() { return &word; }
#else
  HOCKET_MEMBER unsigned address() {
    return static_cast<unsigned>(__cvta_generic_to_shared(&word));
  }
#endif

private:
#ifndef HOCKET_EMULATED
  /// May take a while to say no.
  HOCKET_MEMBER bool hasEnded(int phase) {
    unsigned ended;
    asm volatile("{\n.reg .pred ended;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, ended;\n}"
                 : "=r"(ended)
                 : "r"(address()), "r"(phase & 1)
                 : "memory");
    return ended != 0;
  }
#endif

  unsigned long long word;
};

/// Barriers that this thread has begun are seen by TMA, too.
HOCKET_DEVICE void fenceBarrierInit() {
#ifdef HOCKET_EMULATED
  hocket_emulator.fenceBarrierInit();
#else
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// Named barriers of a block, which have numbers from 1 to 15:
/// namedBarrierSync() goes on when `threads` threads have come to
/// namedBarrierSync() or namedBarrierArrive(). Every lane of a warp must call
/// it.
HOCKET_DEVICE void namedBarrierSync(int barrier, int threads) {
#ifdef HOCKET_EMULATED
  hocket_emulator.namedBarrierSync(barrier, threads);
#else
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
#endif
}
HOCKET_DEVICE void namedBarrierArrive(int barrier, int threads) {
#ifdef HOCKET_EMULATED
  hocket_emulator.namedBarrierArrive(barrier, threads);
#else
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
#endif
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Begins to copy the box of a tensor whose first element has the given
/// coordinates along its dimensions, the innermost first, to a multiple of 1024
/// bytes; what is not in the tensor becomes 0. Rows of 128 bytes lie there as
/// in a SwizzledTile, and all bytes of the box count for the barrier. By
/// one thread.
template <class... Coordinates>
HOCKET_DEVICE void copyBox(void *to, const TensorMap &map, Mbarrier &barrier,
                           Coordinates... coordinates) {
  constexpr int rank = sizeof...(Coordinates);
  static_assert(rank == 2 || rank == 3 || rank == 4);
  int at[] = {static_cast<int>(coordinates)...};
#ifdef HOCKET_EMULATED
  hocket_emulator.copyBox(to, &map, at, rank, barrier.address());
#else
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
#define HOCKET_COPY_BOX(RANK, LIST, ...)                                       \
  asm volatile("cp.async.bulk.tensor." RANK                                    \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "    \
               "[%0], [%1, {" LIST "}], [%2];" ::"r"(address),                 \
               "l"(&map), "r"(barrier.address()), __VA_ARGS__                  \
               : "memory")
  if constexpr (rank == 2)
    HOCKET_COPY_BOX("2d", "%3, %4", "r"(at[0]), "r"(at[1]));
  else if constexpr (rank == 3)
    HOCKET_COPY_BOX("3d", "%3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  else
    HOCKET_COPY_BOX("4d", "%3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]),
                    "r"(at[3]));
#undef HOCKET_COPY_BOX
#endif
}

//===----------------------------------------------------------------------===//
// Rings of stage buffers
//===----------------------------------------------------------------------===//

/// The barriers of a ring of stage buffers for tiles: whether the tile is
/// there, and whether the stage is free. Tile i is in place i % Stages.
template <int Stages> class TileRing {
public:
  /// By one thread; so many threads, and consuming warps, are there.
  HOCKET_MEMBER void begin(unsigned producers, unsigned consumers) {
    for (int i = 0; i < Stages; ++i) {
      there[i].begin(producers);
      free[i].begin(consumers);
    }
  }

  // Of producers: waits until the stage of tile i may be overwritten; the
  // barrier for what is copied there.
  HOCKET_MEMBER void producerAcquire(int i) {
    free[i % Stages].wait(i / Stages - 1);
  }
  HOCKET_MEMBER Mbarrier &barrier(int i) { return there[i % Stages]; }

  // Of consumers: waits until tile i is there; the warp has done with it.
  HOCKET_MEMBER void consumerWait(int i) { there[i % Stages].wait(i / Stages); }
  HOCKET_MEMBER void consumerRelease(int i) {
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      free[i % Stages].arrive();
  }

private:
  Mbarrier there[Stages], free[Stages];
};

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// From here on this warpgroup needs only Count registers a thread, or has so
/// many: a multiple of 8 from 24 to 256. Kernels that call it have one block a
/// multiprocessor (LaunchText::oneBlock).
template <int Count> HOCKET_DEVICE void setmaxnregDec() {
#ifdef HOCKET_EMULATED
  hocket_emulator.setRegisters(Count, false);
#else
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
#endif
}
template <int Count> HOCKET_DEVICE void setmaxnregInc() {
#ifdef HOCKET_EMULATED
  hocket_emulator.setRegisters(Count, true);
#else
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
#endif
}

//===----------------------------------------------------------------------===//
// Roles of warpgroups
//===----------------------------------------------------------------------===//

/// Warpgroups 0 .. Groups - 1 multiply, the one behind them fetches tiles; it
/// hands its registers to them.
template <int Groups> struct WarpRoles {
  static constexpr int registers = Groups == 2 ? 240 : 160;

  HOCKET_MEMBER static bool fetches() { return warpgroup() == Groups; }
  /// Of the group that fetches: the one thread that does so, and its warp.
  HOCKET_MEMBER static bool isFetcher() { return threadIdx.x == 128 * Groups; }
  HOCKET_MEMBER static bool isOfFetchingWarp() {
    return threadIdx.x < 128 * Groups + 32;
  }
  HOCKET_MEMBER static void beginToFetch() { setmaxnregDec<24>(); }
  HOCKET_MEMBER static void beginToMultiply() { setmaxnregInc<registers>(); }
};

/// Warpgroups that multiply take turns at it: while MMAs of one run, the
/// others compute probabilities. Each has as many turns.
template <int Groups> class OrderedSequence {
public:
  HOCKET_MEMBER void begin() {
    if (group > 0 || !isFirst)
      namedBarrierSync(1 + group, 256);
    isFirst = false;
  }
  HOCKET_MEMBER void end(bool isLast) {
    if (group < Groups - 1 || !isLast)
      namedBarrierArrive(1 + (group + 1) % Groups, 256);
  }

private:
  int group = warpgroup();
  bool isFirst = true;
};

#endif // HOCKET_HOPPER

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_TENSORCOPIES_CUH
