//===- Initialize.cpp - First values of parameters ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Initialize.h"

#include "kernels/reference/Philox.h"
#include "runtime/base/WorkerPool.h"
#include "runtime/program/DataType.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace hocket;

/// The two normal values of block `block`.
static std::pair<double, double> normalPair(const kernels::RandomStream &stream,
                                            uint64_t block) {
  auto words = kernels::randomBlock(stream, block);
  constexpr double scale = 0x1p-64;
  double u = (double(uint64_t(words[0]) << 32 | words[1]) + 0.5) * scale;
  double v = double(uint64_t(words[2]) << 32 | words[3]) * scale;
  double radius = std::sqrt(-2 * std::log(u));
  double angle = 2 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

static void normalValues(const kernels::RandomStream &stream, double stddev,
                         uint64_t first, std::span<double> values) {
  for (size_t i = 0; i < values.size();) {
    uint64_t element = first + i;
    auto [even, odd] = normalPair(stream, element / 2);
    if (element % 2 == 0)
      values[i++] = stddev * even;
    if (i < values.size())
      values[i++] = stddev * odd;
  }
}

void hocket::initialValues(const program::Parameter &parameter, uint64_t seed,
                           uint64_t first, std::span<double> values) {
  const program::Initializer &initializer = parameter.initializer();
  if (initializer.kind() == "normal")
    return normalValues({seed, parameter.random_key(), 0xFFFFFFFFu},
                        initializer.stddev(), first, values);
  double value = 0;
  if (initializer.kind() == "ones")
    value = 1;
  else if (initializer.kind() == "constant")
    value = initializer.value();
  std::fill(values.begin(), values.end(), value);
}

namespace {

/// A slice's elements as runs that are contiguous in the global tensor.
class GlobalIndex {
public:
  GlobalIndex(const program::Parameter &parameter,
              const program::ParameterSlice &slice,
              std::vector<uint64_t> sliceStart)
      : slice(slice), start(std::move(sliceStart)) {
    int rank = parameter.shape_size();
    strides.assign(size_t(rank), 1);
    for (int d = rank - 2; d >= 0; --d)
      strides[d] = strides[d + 1] * parameter.shape(d + 1);
    for (int d = rank - 1; d >= 0; --d) {
      run *= slice.size(d);
      if (slice.size(d) != parameter.shape(d))
        break;
    }
  }

  /// Elements of the slice that follow each other in the global tensor too.
  uint64_t runLength() const { return run; }

  /// The global index of the slice's element `local`.
  uint64_t of(uint64_t local) const {
    uint64_t global = 0;
    for (int d = slice.size_size() - 1; d >= 0; --d) {
      global += (start[size_t(d)] + local % slice.size(d)) * strides[d];
      local /= slice.size(d);
    }
    return global;
  }

private:
  const program::ParameterSlice &slice;
  std::vector<uint64_t> start;
  std::vector<uint64_t> strides;
  uint64_t run = 1;
};

/// Writes slices in pieces, so that no tensor is held twice.
class Initializer {
public:
  Initializer(Executor &executor, WorkerPool &pool)
      : executor(executor), pool(pool) {}

  Status initialize(const program::ParameterSlice &slice) {
    const program::Program &program = executor.program();
    const program::Parameter &parameter =
        program.parameters(int(slice.parameter()));
    auto type = kernels::DType(
        int(executor.role().buffers(int(slice.buffer())).dtype()));
    uint64_t size = uint64_t(kernels::bytesOf(type));
    if (size == 0)
      return writeZeros(slice);
    uint64_t elements = executor.sliceBytes(slice) / size;
    auto start = sliceStart(program, slice, executor.rank());
    if (!start)
      return internalError(parameter.name() + ": its slice starts nowhere");
    GlobalIndex index(parameter, slice, std::move(*start));
    for (uint64_t begin = 0; begin < elements; begin += piece) {
      uint64_t count = std::min(piece, elements - begin);
      bytes.assign(count * size, std::byte{0});
      if (slice.state() == "value")
        fill(parameter, index, begin, count, {bytes.data(), type});
      HOCKET_RETURN_IF_ERROR(
          executor.writeSlice(slice, begin * size, bytes.data(), bytes.size()));
    }
    return okStatus();
  }

private:
  static constexpr uint64_t piece = uint64_t(1) << 20;

  /// Types without arithmetic.
  Status writeZeros(const program::ParameterSlice &slice) {
    uint64_t total = executor.sliceBytes(slice);
    for (uint64_t begin = 0; begin < total; begin += piece) {
      bytes.assign(std::min(piece, total - begin), std::byte{0});
      HOCKET_RETURN_IF_ERROR(
          executor.writeSlice(slice, begin, bytes.data(), bytes.size()));
    }
    return okStatus();
  }

  void fill(const program::Parameter &parameter, const GlobalIndex &index,
            uint64_t begin, uint64_t count, kernels::View out) {
    pool.parallelFor(
        int64_t(count), 4096, [&](int64_t first, int64_t last, unsigned) {
          double values[512];
          for (uint64_t at = uint64_t(first); at < uint64_t(last);) {
            uint64_t local = begin + at;
            uint64_t inRun = index.runLength() - local % index.runLength();
            uint64_t n = std::min({uint64_t(last) - at, inRun, uint64_t(512)});
            initialValues(parameter, executor.currentSeed(), index.of(local),
                          {values, n});
            for (uint64_t i = 0; i < n; ++i)
              kernels::store(out, int64_t(at + i), values[i]);
            at += n;
          }
        });
  }

  Executor &executor;
  WorkerPool &pool;
  std::vector<std::byte> bytes;
};

} // namespace

Status hocket::initializeParameters(Executor &executor) {
  HOCKET_ASSIGN_OR_RETURN(unsigned workers, WorkerPool::defaultCount());
  WorkerPool pool(workers);
  Initializer initializer(executor, pool);
  for (const program::ParameterSlice &slice : executor.role().slices())
    HOCKET_RETURN_IF_ERROR(initializer.initialize(slice));
  return okStatus();
}
