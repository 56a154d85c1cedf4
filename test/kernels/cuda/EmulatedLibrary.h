//===- EmulatedLibrary.h - Library ops on the emulated GPU ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Calls of library ops with their data, made as
/// kernels/cuda/launches/Library.h says and run on the emulator. All calls of a
/// test share one source, which is compiled once.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_KERNELS_CUDA_EMULATEDLIBRARY_H
#define HOCKET_TEST_KERNELS_CUDA_EMULATEDLIBRARY_H

#include "kernels/cuda/launches/Library.h"
#include "test/emulator/Module.h"
#include "test/kernels/TestWorkers.h"

namespace hocket::kernels::test {

/// What a buffer holds before the call.
struct Fill {
  DType dtype = DType::F32;
  double scale = 1;          ///< of floating-point numbers: in [-scale, scale)
  int32_t low = 0, high = 0; ///< of integers: in [low, high)
  std::vector<int32_t> values = {}; ///< if any: the integers
  bool isResult = true;             ///< false: its contents are unspecified
  double slack = 1; ///< times the tolerance: of sums that nearly cancel
};

/// One call, but for its buffers' memory.
struct LibraryCase {
  std::string_view op;
  std::vector<int64_t> integers;
  std::vector<double> floats;
  std::vector<int64_t> scalars;
  std::vector<Fill> fills; ///< one a buffer
  int accumulate = 0;
  /// Of the last buffers, as many as there are here: the buffer that it is.
  std::vector<size_t> inPlace = {};
};

/// For messages: the op, its integers and whether it accumulates.
std::string nameOf(const LibraryCase &c);

/// Buffers of a call with bytes around them that nothing may touch.
class CaseMemory {
public:
  explicit CaseMemory(const LibraryCase &c);

  std::vector<void *> buffers();
  /// The elements of a buffer, copied.
  Array values(size_t i) const;
  bool guardsHold() const;

private:
  static constexpr size_t guard = 64;
  size_t arrayOf(size_t i) const;

  std::vector<size_t> inPlace;
  std::vector<DType> dtypes;
  std::vector<std::vector<std::byte>> arrays;
};

/// The kernels of `calls`, compiled for the emulator.
class EmulatedLibrary {
public:
  /// Fails the test if they do not compile.
  explicit EmulatedLibrary(const std::vector<CudaCall> &calls);
  bool isGood() const { return module != nullptr; }

  /// Runs the launches of a call on `buffers` with threads in the order of
  /// `seed`, as a GPU of compute capability `major`.0 would; returns the fault
  /// word.
  uint32_t run(const LibraryCase &c, const CudaCall &call,
               const std::vector<void *> &buffers, uint64_t seed,
               int major = 8);

private:
  std::unique_ptr<emulator::Module> module;
};

/// The launches of a case with as many buffers; fails the test if it is not
/// good.
CudaCall callOf(const LibraryCase &c, size_t buffers);

/// All kernels of `calls` as one source.
std::string sourceOf(const std::vector<CudaCall> &calls);

} // namespace hocket::kernels::test

#endif // HOCKET_TEST_KERNELS_CUDA_EMULATEDLIBRARY_H
