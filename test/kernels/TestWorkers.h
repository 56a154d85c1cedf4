//===- TestWorkers.h - Workers for tests ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Workers on plain threads, and buffers filled with counted random numbers.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_KERNELS_TESTWORKERS_H
#define HOCKET_TEST_KERNELS_TESTWORKERS_H

#include "kernels/cpu/simd/Workers.h"
#include "kernels/reference/Element.h"
#include "kernels/reference/Philox.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace hocket::kernels::test {

/// `count` threads, started for each run.
class TestWorkers : public Workers {
public:
  explicit TestWorkers(int count, Isa isa = bestIsa())
      : level(isa), buffers(count) {
    for (auto &buffer : buffers)
      buffer.reset(static_cast<std::byte *>(
          std::aligned_alloc(64, kScratchBytesPerWorker)));
  }

  int count() const override { return static_cast<int>(buffers.size()); }
  std::span<std::byte> scratch(int worker) override {
    return {buffers[worker].get(), kScratchBytesPerWorker};
  }
  Isa isa() const override { return level; }

  void run(int64_t tasks, TaskRef fn) override {
    std::atomic<int64_t> next = 0;
    auto work = [&](int worker) {
      for (int64_t task = next++; task < tasks; task = next++)
        fn(task, worker);
    };
    std::vector<std::thread> threads;
    for (int worker = 1; worker < count() && worker < tasks; ++worker)
      threads.emplace_back(work, worker);
    work(0);
    for (std::thread &thread : threads)
      thread.join();
  }

private:
  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };
  Isa level;
  std::vector<std::unique_ptr<std::byte, Free>> buffers;
};

/// The instruction sets of this machine.
inline std::vector<Isa> machineIsas() {
  std::vector<Isa> found;
  for (Isa isa : {Isa::Avx2, Isa::Avx512, Isa::Avx512Bf16, Isa::Amx})
    if (cpuSupports(isa))
      found.push_back(isa);
  return found;
}

/// An owned array of any element type, exactly as long as it says, so that
/// AddressSanitizer sees every access beyond it.
class Array {
public:
  Array(DType dtype, int64_t count)
      : type(dtype), elements(count),
        memory(new std::byte[static_cast<size_t>(count * bytesOf(dtype))]()) {}

  int64_t size() const { return elements; }
  DType dtype() const { return type; }
  View view() { return {memory.get(), type}; }
  ConstView view() const { return {memory.get(), type}; }
  double operator[](int64_t i) const { return load(view(), i); }
  void set(int64_t i, double x) { store(view(), i, x); }
  template <typename T> T *as() { return reinterpret_cast<T *>(memory.get()); }

  bool sameBits(const Array &other) const {
    return elements == other.elements && type == other.type &&
           std::memcmp(memory.get(), other.memory.get(),
                       static_cast<size_t>(elements * bytesOf(type))) == 0;
  }
  /// The same values in double.
  Array wide() const {
    Array result(DType::F64, elements);
    for (int64_t i = 0; i < elements; ++i)
      result.set(i, (*this)[i]);
    return result;
  }

private:
  DType type;
  int64_t elements;
  std::unique_ptr<std::byte[]> memory;
};

/// Numbers in [-scale, scale), rounded to `dtype`.
inline Array randomArray(DType dtype, int64_t count, uint32_t stream,
                         double scale = 1) {
  Array result(dtype, count);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t word = randomWord({17, stream, 0}, static_cast<uint64_t>(i));
    result.set(i, (word * 0x1p-31 - 1) * scale);
  }
  return result;
}

/// Frobenius norm of the difference over that of `expected`. Equal infinities
/// do not differ.
inline double relativeError(const Array &got, const Array &expected) {
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    double e = expected[i];
    if (std::isinf(e) && got[i] == e)
      continue;
    double d = got[i] - e;
    difference += d * d, norm += e * e;
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

/// What rounding to `dtype` may cost on top of sums in f32.
inline double tolerance(DType dtype) {
  return dtype == DType::BF16 ? 3e-3 : dtype == DType::F16 ? 4e-4 : 2e-6;
}

inline std::string nameOf(DType dtype) {
  return dtype == DType::F32      ? "f32"
         : dtype == DType::BF16   ? "bf16"
         : dtype == DType::F16    ? "f16"
         : dtype == DType::F8E4M3 ? "f8e4m3"
         : dtype == DType::F8E5M2 ? "f8e5m2"
                                  : "other";
}

} // namespace hocket::kernels::test

#endif // HOCKET_TEST_KERNELS_TESTWORKERS_H
