//===- BlockBarriers.h - Barriers and tensor copies of a block --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels/cuda/TensorCopies.cuh does on hardware, but for who waits
/// (Block.cpp): barriers in shared memory, copies that end on them,
/// named barriers, registers of warpgroups. The bytes that a copy writes are
/// garbage from when it begins until it ends, which whoever owns this decides.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_BLOCKBARRIERS_H
#define HOCKET_TEST_EMULATOR_BLOCKBARRIERS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace hocket::emulator {

/// Of one block. What is wrong with a call is its result; empty: nothing.
class BlockBarriers {
public:
  /// Dynamic shared memory, and what MMAs see of it.
  struct Dynamic {
    std::span<std::byte> memory, seen;
  };
  /// In the static and the dynamic shared memory of a block of so many threads.
  void begin(std::span<std::byte> shared, Dynamic dynamic, unsigned threads);

  // Barriers in shared memory.
  std::string beginBarrier(void *barrier, unsigned arrivals, unsigned thread);
  void fenceBarrierInit(unsigned thread);
  std::string arrive(void *barrier, unsigned bytes);
  std::string checkWait(void *barrier);
  bool hasEnded(void *barrier, unsigned parity) const;
  /// "phase 3 of the barrier at 16 of shared memory, which lacks 1 arrival".
  std::string nameOf(void *barrier) const;

  // Copies.
  std::string copyBox(void *to, const void *map, const int *at, int rank,
                      void *barrier);
  size_t copies() const { return underWay.size(); }
  using Access = bool (*)(const void *at, unsigned long bytes, bool writes);
  /// Ends one of them. `access`: see Calls.h.
  std::string land(size_t copy, Access access);

  // Named barriers, by number.
  /// A thread comes to meet or, if it goes on, to signal.
  std::string come(unsigned barrier, unsigned threads);
  /// Whether as many came as were to; they are forgotten then.
  bool isFull(unsigned barrier);

  std::string setRegisters(unsigned thread, unsigned count, bool raises);

  /// What is left behind that must not be when all threads have ended.
  std::string end() const;

private:
  struct Barrier {
    unsigned count = 0, pending = 0, phase = 0, beginner = 0;
    int64_t bytes = 0; ///< Expected but not copied; less: the other way round.
    bool isShown = false;
  };
  struct Copy {
    std::vector<std::byte> map;
    std::array<int, 5> at;
    std::byte *to;
    void *barrier;
  };
  struct Meeting {
    unsigned came = 0, threads = 0;
  };
  std::string find(void *at, Barrier *&barrier);
  static void settle(Barrier &barrier);

  /// What TMA has written at `to`, MMAs see.
  void show(const std::byte *to, size_t bytes) const;

  std::span<std::byte> shared, dynamic, seen;
  std::map<void *, Barrier> barriers;
  std::vector<Copy> underWay;
  std::array<Meeting, 16> meetings;
  std::vector<unsigned> registers; ///< Of each thread.
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_BLOCKBARRIERS_H
