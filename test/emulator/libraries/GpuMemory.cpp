//===- GpuMemory.cpp - Memory of an emulated GPU --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/libraries/GpuMemory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace hocket::emulator;

/// Of addresses; memory is taken from the system only where it is allocated.
static constexpr size_t rangeBytes = size_t(1) << 40;
static constexpr size_t pageBytes = 4096;
/// Addresses between two allocations that belong to none.
static constexpr size_t gapBytes = 1 << 20;

static size_t roundUp(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

GpuMemory::GpuMemory(size_t bytes) : limit(bytes) {
  void *range = ::mmap(nullptr, rangeBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    return; // No allocation will succeed.
  begin = reinterpret_cast<uint64_t>(range);
  end = begin + rangeBytes;
  next = begin + gapBytes;
}

GpuMemory::~GpuMemory() {
  if (begin)
    ::munmap(reinterpret_cast<void *>(begin), rangeBytes);
}

uint64_t GpuMemory::allocate(size_t bytes) {
  if (bytes == 0 || bytes > limit || inUse > limit - bytes)
    return 0;
  size_t mapped = roundUp(bytes, pageBytes);
  if (begin == 0 || next + mapped + gapBytes > end)
    return 0;
  // Ends where its last page ends, as far as alignment allows: what reads far
  // behind it is stopped by the system at the latest.
  uint64_t address = next + (mapped - bytes) / 512 * 512;
  void *pages = reinterpret_cast<void *>(next);
  if (::mprotect(pages, mapped, PROT_READ | PROT_WRITE) != 0)
    return 0;
  std::memset(pages, 0xff, mapped);
  allocations[address] = {bytes, std::vector<bool>(bytes)};
  next = roundUp(next + mapped + gapBytes, pageBytes);
  inUse += bytes;
  return address;
}

bool GpuMemory::release(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return false;
  uint64_t first = address / pageBytes * pageBytes;
  size_t mapped = roundUp(address + found->second.bytes - first, pageBytes);
  void *pages = reinterpret_cast<void *>(first);
  ::madvise(pages, mapped, MADV_DONTNEED);
  ::mprotect(pages, mapped, PROT_NONE);
  inUse -= found->second.bytes;
  allocations.erase(found);
  return true;
}

bool GpuMemory::owns(uint64_t address) const {
  return begin <= address && address < end;
}

std::string GpuMemory::access(uint64_t address, size_t bytes, bool writes) {
  auto after = allocations.upper_bound(address);
  const char *what = writes ? "writes" : "reads";
  if (after == allocations.begin())
    return std::string(what) + " memory that was never allocated";
  auto &[start, allocation] = *std::prev(after);
  uint64_t offset = address - start;
  auto place = [&] {
    return std::to_string(bytes) + " bytes at " + std::to_string(offset) +
           " of an allocation of " + std::to_string(allocation.bytes);
  };
  if (offset > allocation.bytes || bytes > allocation.bytes - offset)
    return std::string(what) + " " + place();
  auto first = allocation.written.begin() + ptrdiff_t(offset);
  auto last = first + ptrdiff_t(bytes);
  if (writes)
    std::fill(first, last, true);
  else if (std::find(first, last, false) != last)
    return "reads what was never written, " + place();
  return "";
}
