//===- few_rows_benchmark.cpp - GEMMs of a few tokens against reading -----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Times what a token or a few cost in the matrices of GPT-2 124M, more of them
/// than caches hold, and reading the same bytes, in turns; prints the medians
/// of both and of their ratio. `few_rows_benchmark [THREADS [ROUNDS]]`.
///
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Gemm.h"
#include "test/kernels/TestWorkers.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace hocket::kernels;
using namespace hocket::kernels::test;

namespace {

constexpr int64_t leastBytes = int64_t(400) << 20;

struct Shape {
  const char *name;
  int64_t n, k;
};
constexpr Shape shapes[] = {{"attention", 768, 768},
                            {"mlp up", 3072, 768},
                            {"mlp down", 768, 3072},
                            {"head", 50304, 768}};

template <typename Work> double secondsOf(const Work &work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Sums all words, as many at a time as there are workers.
void readAll(const Array &matrices, Workers &workers) {
  constexpr int64_t lanes = 64;
  auto *words = reinterpret_cast<const uint64_t *>(matrices.view().data);
  int64_t count = matrices.size() * bytesOf(matrices.dtype()) / 8;
  std::atomic<uint64_t> total = 0;
  auto task = [&](int64_t part, int) {
    uint64_t sums[lanes] = {};
    int64_t end = count * (part + 1) / workers.count();
    for (int64_t i = count * part / workers.count(); i + lanes <= end;
         i += lanes)
      for (int64_t j = 0; j < lanes; ++j)
        sums[j] += words[i + j];
    for (uint64_t sum : sums)
      total += sum;
  };
  workers.run(workers.count(), task);
  if (total == 0)
    std::puts("(all zero)");
}

/// `rows` tokens through every matrix in turn. Packed matrices without padding
/// are as large as they were, and any bytes are some.
void multiplyAll(const Shape &shape, int64_t rows, const Array &matrices,
                 bool packed, Workers &workers) {
  static Array a = randomArray(DType::F32, 8 * 3072, 1);
  static Array d(DType::F32, 8 * 50304);
  GemmArguments args;
  args.m = rows, args.n = shape.n, args.k = shape.k, args.transposeB = true;
  args.packedB = packed;
  args.a = a.view(), args.d = d.view();
  int64_t elements = shape.n * shape.k;
  const auto *start = static_cast<const std::byte *>(matrices.view().data);
  for (int64_t at = 0; at + elements <= matrices.size(); at += elements) {
    args.b = {start + at * bytesOf(matrices.dtype()), matrices.dtype()};
    if (KernelError error = gemm(args, workers))
      std::puts(error);
  }
}

void measure(const Shape &shape, DType dtype, bool packed, Workers &workers,
             int rounds) {
  int64_t elements = shape.n * shape.k, element = bytesOf(dtype);
  int64_t copies = leastBytes / (elements * element) + 1;
  Array matrices(dtype, copies * elements);
  for (int64_t i = 0; i < matrices.size(); ++i)
    matrices.set(i, double(i % 89) / 89 - 0.5);
  double bytes = double(copies * elements * element);
  for (int64_t rows : {1, 4, 8}) {
    std::vector<double> multiplied, read, share;
    for (int round = 0; round < rounds; ++round) {
      multiplied.push_back(bytes / secondsOf([&] {
                             multiplyAll(shape, rows, matrices, packed,
                                         workers);
                           }));
      read.push_back(bytes / secondsOf([&] { readAll(matrices, workers); }));
      share.push_back(multiplied.back() / read.back());
    }
    std::printf(
        "%-9s  %-4s  %-6s  %ld rows  %5.1f GB/s  reading %5.1f GB/s  %3.0f%%\n",
        shape.name, nameOf(dtype).c_str(), packed ? "packed" : "", long(rows),
        medianOf(multiplied) / 1e9, medianOf(read) / 1e9,
        100 * medianOf(share));
  }
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  if (threads < 1 || rounds < 1) {
    std::fputs("usage: few_rows_benchmark [THREADS [ROUNDS]]\n", stderr);
    return 2;
  }
  TestWorkers workers(threads);
  for (DType dtype : {DType::F32, DType::BF16})
    for (const Shape &shape : shapes)
      for (bool packed : {false, true})
        measure(shape, dtype, packed, workers, rounds);
}
