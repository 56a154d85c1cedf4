//===- GpuMemory.h - Memory of an emulated GPU ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Allocations lie far apart in a range of addresses that nothing else has, so
/// that an address tells where it belongs. Of each byte it is known whether it
/// was ever written.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_LIBRARIES_GPUMEMORY_H
#define HOCKET_TEST_EMULATOR_LIBRARIES_GPUMEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hocket::emulator {

class GpuMemory {
public:
  /// Holds at most `bytes` of allocations.
  explicit GpuMemory(size_t bytes);
  ~GpuMemory();
  GpuMemory(const GpuMemory &) = delete;

  /// An address aligned to 512 bytes, or 0: no memory is left. What lies there
  /// is NaN in every floating type.
  uint64_t allocate(size_t bytes);
  bool release(uint64_t address);

  /// Whether it is an address of this GPU, allocated or not.
  bool owns(uint64_t address) const;

  /// Notes an access; empty, or what is wrong with it.
  std::string access(uint64_t address, size_t bytes, bool writes);

  size_t capacity() const { return limit; }
  size_t used() const { return inUse; }

private:
  struct Allocation {
    size_t bytes = 0;
    std::vector<bool> written;
  };

  size_t limit, inUse = 0;
  uint64_t begin = 0, end = 0, next = 0;
  std::map<uint64_t, Allocation> allocations; ///< By address.
};

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_LIBRARIES_GPUMEMORY_H
