//===- Initialize.cpp - First values of parameters ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/values/Initialize.h"

#include "base/WorkerPool.h"
#include "kernels/reference/Philox.h"
#include "runtime/checkpoint/hugging_face/Adapters.h"
#include "runtime/program/DataType.h"
#include "runtime/train/values/NormalValues.h"
#include "runtime/train/values/RankSlice.h"
#include "runtime/train/values/RunCheckpoint.h"

#include <algorithm>
#include <cmath>

using namespace hocket;

static void normalValues(const kernels::RandomStream &stream, double stddev,
                         uint64_t first, std::span<double> values) {
  standardNormalValues(stream, first, values);
  for (double &value : values)
    value *= stddev;
}

/// Of u in (0, 1) what `kind` makes of it; see `#xf.init`.
static double spread(const std::string &kind, double value, double u) {
  if (kind == "log_uniform")
    return std::log(1 + (value - 1) * u);
  if (kind == "time_step") {
    double step = value * std::pow(100, u - 1);
    return step + std::log(-std::expm1(-step));
  }
  return value * (2 * u - 1);
}

static void spreadValues(const kernels::RandomStream &stream,
                         const program::Initializer &initializer,
                         uint64_t first, std::span<double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t element = first + i;
    auto words = kernels::randomBlock(stream, element / 2);
    size_t at = element % 2 * 2;
    double u =
        (double(uint64_t(words[at]) << 32 | words[at + 1]) + 0.5) * 0x1p-64;
    values[i] = spread(initializer.kind(), initializer.value(), u);
  }
}

void hocket::initialValues(const program::Parameter &parameter, uint64_t seed,
                           uint64_t first, std::span<double> values) {
  const program::Initializer &initializer = parameter.initializer();
  if (initializer.kind() == "normal")
    return normalValues({seed, parameter.random_key(), 0xFFFFFFFFu},
                        initializer.stddev(), first, values);
  if (initializer.kind() == "uniform" || initializer.kind() == "log_uniform" ||
      initializer.kind() == "time_step")
    return spreadValues({seed, parameter.random_key(), 0xFFFFFFFFu},
                        initializer, first, values);
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
  explicit GlobalIndex(RankSlice place) : slice(std::move(place)) {
    size_t rank = slice.shape.size();
    strides.assign(rank, 1);
    for (size_t d = rank; d-- > 1;)
      strides[d - 1] = strides[d] * slice.shape[d];
    for (size_t d = rank; d-- > 0;) {
      run *= slice.size[d];
      if (slice.size[d] != slice.shape[d] || slice.isPadded())
        break;
    }
  }

  /// Elements of the slice that follow each other in the global tensor too, as
  /// far as they lie inside it.
  uint64_t runLength() const { return run; }

  /// Where the slice's element `local` is in the global tensor, and how many
  /// more of its run lie inside: none for padding.
  struct Position {
    uint64_t global = 0;
    uint64_t inside = 0;
  };
  Position of(uint64_t local) const {
    Position position{0, run - local % run};
    for (size_t d = slice.size.size(); d-- > 0;) {
      uint64_t at = local % slice.size[d];
      position.global += (slice.start[d] + at) * strides[d];
      local /= slice.size[d];
      if (!slice.isPadded())
        continue;
      uint64_t left = slice.inside[d] - std::min(at, slice.inside[d]);
      if (d + 1 == slice.size.size())
        position.inside = left;
      else if (left == 0)
        position.inside = 0;
    }
    return position;
  }

private:
  RankSlice slice;
  std::vector<uint64_t> strides;
  uint64_t run = 1;
};

/// Writes slices in chunks, so that no tensor is held twice.
class Initializer {
public:
  Initializer(Executor &executor, WorkerPool &pool, FirstValues which)
      : executor(executor), pool(pool), which(which),
        isNew(executor.device().touchedBytes() == 0) {}

  Status initialize(const program::ParameterSlice &slice) {
    const program::Program &program = executor.program();
    const program::Parameter &parameter =
        program.parameters(int(slice.parameter()));
    bool isZero =
        slice.state() != "value" || parameter.initializer().kind() == "zeros";
    RankSlice place = RankSlice::of(program, slice, executor.rank());
    // New adapters belong to weights that lack them.
    bool isLoaded = which == FirstValues::BesideWeights &&
                    isWeight(program, slice) && !place.isEmpty() &&
                    !checkpoint::isAdapter(parameter.name());
    if (isLoaded || (isZero && isNew))
      return okStatus();
    auto type = kernels::DType(
        int(executor.role().buffers(int(slice.buffer())).dtype()));
    uint64_t size = uint64_t(kernels::bytesOf(type));
    if (size == 0)
      return writeZeros(slice);
    uint64_t elements = executor.sliceBytes(slice) / size;
    GlobalIndex index(std::move(place));
    for (uint64_t begin = 0; begin < elements; begin += chunk) {
      uint64_t count = std::min(chunk, elements - begin);
      bytes.assign(count * size, std::byte{0});
      if (slice.state() == "value")
        fill(parameter, index, begin, count, {bytes.data(), type});
      HOCKET_RETURN_IF_ERROR(executor.beginWriteSlice(
          slice, begin * size, bytes.data(), bytes.size()));
    }
    return okStatus();
  }

private:
  /// Enough for all threads of a large host: what one chunk costs beside its
  /// numbers does not count.
  static constexpr uint64_t chunk = uint64_t(1) << 22;

  /// Types without arithmetic.
  Status writeZeros(const program::ParameterSlice &slice) {
    uint64_t total = executor.sliceBytes(slice);
    for (uint64_t begin = 0; begin < total; begin += chunk) {
      bytes.assign(std::min(chunk, total - begin), std::byte{0});
      HOCKET_RETURN_IF_ERROR(
          executor.beginWriteSlice(slice, begin, bytes.data(), bytes.size()));
    }
    return okStatus();
  }

  static void storeAll(kernels::View out, uint64_t at,
                       std::span<const double> values) {
    if (out.dtype == kernels::DType::F32) {
      auto *to = static_cast<float *>(out.data) + at;
      for (size_t i = 0; i < values.size(); ++i)
        to[i] = float(values[i]);
      return;
    }
    for (size_t i = 0; i < values.size(); ++i)
      kernels::store(out, int64_t(at + i), values[i]);
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
            GlobalIndex::Position position = index.of(local);
            uint64_t known = std::min(n, position.inside);
            initialValues(parameter, executor.currentSeed(), position.global,
                          {values, known});
            std::fill(values + known, values + n, 0.0);
            storeAll(out, at, {values, n});
            at += n;
          }
        });
  }

  Executor &executor;
  WorkerPool &pool;
  FirstValues which;
  bool isNew; ///< Nothing was written yet: the arena is zero.
  std::vector<std::byte> bytes;
};

} // namespace

Status hocket::initializeParameters(Executor &executor, unsigned threads,
                                    FirstValues which) {
  if (threads == 0) {
    const hal::DeviceProperties &about = executor.device().properties();
    HOCKET_ASSIGN_OR_RETURN(unsigned cores, WorkerPool::defaultCount());
    threads = about.hostMemory ? about.workers : cores;
  }
  WorkerPool pool(threads);
  Initializer initializer(executor, pool, which);
  HOCKET_RETURN_IF_ERROR(executor.device().synchronize());
  for (const program::ParameterSlice &slice : executor.role().slices())
    HOCKET_RETURN_IF_ERROR(initializer.initialize(slice));
  return executor.device().synchronize();
}
