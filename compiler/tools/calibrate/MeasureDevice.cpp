//===- MeasureDevice.cpp - Measures a device of this machine --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/calibrate/MeasureDevice.h"

#include "base/WorkerPool.h"
#include "compiler/tools/calibrate/DeviceTimer.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/train/LocalRanks.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>

using namespace hocket;
using namespace hocket::planning;
using hal::DType;
using hal::Range;

namespace {

constexpr uint64_t alignment = 4096;

/// Rows of a GEMM, and columns with what is summed over.
struct GemmShape {
  int64_t m, n, k;
};

/// A number of them that is odd for each m, so that neighbours of either half
/// have all sizes.
std::vector<GemmShape> gemmShapes(bool large, bool isShort) {
  std::vector<GemmShape> shapes;
  std::vector<int64_t> rows{128, 512, 2048};
  if (isShort)
    rows.resize(1);
  for (int64_t m : rows)
    for (auto [n, k] : {std::pair<int64_t, int64_t>{256, 256},
                        {256, 1024},
                        {1024, 1024},
                        {4096, 1024},
                        {1024, 4096}})
      shapes.push_back({m, n, k});
  for (int64_t m : {2048, 8192})
    for (auto [n, k] :
         {std::pair<int64_t, int64_t>{4096, 4096}, {8192, 4096}, {4096, 16384}})
      if (large)
        shapes.push_back({m, n, k});
  return shapes;
}

/// Elements of an addition of f32; large enough not to be launches alone.
std::vector<int64_t> additionSizes(bool large) {
  std::vector<int64_t> sizes;
  for (int bits = 16; bits <= (large ? 26 : 22); ++bits)
    sizes.push_back(int64_t(1) << bits);
  return sizes;
}

struct AttentionShape {
  int64_t length, headDim;
};
constexpr AttentionShape allAttentionShapes[] = {
    {128, 64}, {256, 64},  {512, 32}, {512, 64},  {1024, 64},
    {256, 32}, {1024, 32}, {128, 32}, {512, 128}, {1024, 128}};
constexpr size_t fewAttentionShapes = 4;
constexpr int64_t attentionTokens = 2048, attentionHeads = 8;

/// Programs say the most about steps: each as long as ten other measurements.
constexpr double longer = 10;

/// Bytes that all ranks' shards have together.
constexpr int64_t gatherBytes[] = {1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24};

/// One rank's measurements.
class RankMeasurement {
public:
  RankMeasurement(const MeasureOptions &options,
                  const std::vector<SmallProgram> &programs,
                  comm::CommunicatorSet &communicators)
      : options(options), programs(programs), world(communicators.world()) {}

  /// What a rank does alone, by as many ranks as have cores of their own.
  Status measureAlone();
  /// What all ranks do together.
  Status measureTogether();
  DeviceMeasurements result;

private:
  Status open();
  Status measureGemms();
  Status measureAdditions();
  Status measureAttention();
  Status measureGathers();
  Status measureLaunches();
  Status measurePrograms();

  /// Bytes after those that were given out before.
  Range range(uint64_t bytes) {
    Range range{next, bytes};
    next += (bytes + alignment - 1) / alignment * alignment;
    return range;
  }
  bool isShort() const { return options.seconds < 1; }
  std::span<const AttentionShape> attentionShapes() const {
    std::span<const AttentionShape> all(allAttentionShapes);
    return isShort() ? all.first(fewAttentionShapes) : all;
  }
  bool isLarge() const { return !device->properties().hostMemory; }
  void note(const std::string &what) {
    if (world.rank() == 0 && options.note)
      options.note(what, done, all);
    ++done;
  }
  StatusOr<double> timeAddition(int64_t elements);

  const MeasureOptions &options;
  const std::vector<SmallProgram> &programs;
  comm::Communicator &world;
  std::unique_ptr<hal::Device> device;
  std::unique_ptr<DeviceTimer> timer;
  uint64_t next = 0;
  size_t done = 0, all = 0;
  double share = 0; ///< Of the seconds, for one measurement.
};

} // namespace

Status RankMeasurement::open() {
  HOCKET_ASSIGN_OR_RETURN(
      device, hal::createDevice(options.driver, {options.threads, 0}));
  const hal::DeviceProperties &about = device->properties();
  if (!about.computes)
    return invalidArgument("a device of the driver '" + options.driver +
                           "' computes nothing: there is nothing to measure");
  if (options.ranks > 1 && !about.hostMemory)
    return invalidArgument("several ranks are measured on devices in the "
                           "host's memory alone; a device of '" +
                           options.driver + "' is not");
  constexpr uint64_t hostArena = uint64_t(192) << 20;
  constexpr uint64_t ownArena = uint64_t(3) << 30;
  HOCKET_RETURN_IF_ERROR(
      device->allocateArena(isLarge() ? ownArena : hostArena));
  HOCKET_RETURN_IF_ERROR(device->createQueues(1, 1));
  // Small numbers in every type, not zeros.
  constexpr uint8_t smallNumbers = 0x3c;
  HOCKET_RETURN_IF_ERROR(
      device->fill(0, {0, device->arenaBytes()}, smallNumbers));
  result.name = about.name;
  result.driver = about.driver;
  result.memoryBytes = int64_t(about.memoryBytes / options.ranks);
  result.ranks = options.ranks;
  all = 2 * gemmShapes(isLarge(), isShort()).size() +
        additionSizes(isLarge()).size() + attentionShapes().size() + 1 +
        programs.size() + (options.ranks > 1 ? std::size(gatherBytes) : 0);
  share =
      options.seconds / (double(all) + (longer - 1) * double(programs.size()));
  timer = std::make_unique<DeviceTimer>(*device, world, share);
  return okStatus();
}

Status RankMeasurement::measureGemms() {
  for (DType dtype : {DType::F32, DType::BF16})
    for (const GemmShape &shape : gemmShapes(isLarge(), isShort())) {
      note("GEMMs");
      next = 0;
      auto size = uint64_t(dtype == DType::F32 ? 4 : 2);
      auto [m, n, k] = shape;
      hal::GemmCall call;
      call.m = uint64_t(m), call.n = uint64_t(n), call.k = uint64_t(k);
      call.transposeB = true; // as weights are
      call.a = {range(call.m * call.k * size), dtype};
      call.b = {range(call.n * call.k * size), dtype};
      call.d = {range(call.m * call.n * size), dtype};
      HOCKET_ASSIGN_OR_RETURN(double seconds, timer->untilDone([&] {
        return device->gemm(0, call);
      }));
      cluster::Gemm gemm{double(m), double(n), double(k), 1};
      result.gemms.push_back({gemm, int64_t(8 * size), seconds});
    }
  return okStatus();
}

StatusOr<double> RankMeasurement::timeAddition(int64_t elements) {
  next = 0;
  Range buffers[] = {range(uint64_t(elements) * 4),
                     range(uint64_t(elements) * 4)};
  int64_t integers[] = {int64_t(DType::F32), elements};
  hal::LibraryCall call;
  call.op = kernels::findLibraryOp("accumulate");
  call.buffers = buffers;
  call.integers = integers;
  call.accumulate = true;
  return timer->untilDone([&] { return device->library(0, call); });
}

Status RankMeasurement::measureAdditions() {
  for (int64_t elements : additionSizes(isLarge())) {
    note("kernels that move data");
    HOCKET_ASSIGN_OR_RETURN(double seconds, timeAddition(elements));
    constexpr double bytesOfElement = 12; // two read, one written
    result.moves.push_back({bytesOfElement * double(elements), seconds});
  }
  return okStatus();
}

Status RankMeasurement::measureAttention() {
  for (auto [length, headDim] : attentionShapes()) {
    note("attention");
    next = 0;
    int64_t rows = attentionTokens * attentionHeads;
    auto bytes = uint64_t(rows * headDim) * 4;
    Range buffers[] = {range(bytes), range(bytes), range(bytes), range(bytes),
                       range(uint64_t(rows) * 4)};
    int64_t integers[] = {int64_t(DType::F32),
                          attentionTokens / length,
                          length,
                          attentionHeads,
                          attentionHeads,
                          headDim,
                          1,
                          0,
                          0};
    double floats[] = {1 / double(headDim), 0};
    int64_t scalars[] = {0, 0, 0};
    hal::LibraryCall call;
    call.op = kernels::findLibraryOp("attention_forward");
    call.buffers = buffers;
    call.integers = integers;
    call.floats = floats;
    call.scalars = scalars;
    HOCKET_ASSIGN_OR_RETURN(double seconds, timer->untilDone([&] {
      return device->library(0, call);
    }));
    // Two GEMMs of half of the square, as LayerWork.h counts them.
    double flops = 4 * double(rows) * double(headDim) * double(length) / 2;
    result.attentions.push_back(
        {flops, double(length), double(headDim), seconds});
  }
  return okStatus();
}

Status RankMeasurement::measureGathers() {
  done = all - std::size(gatherBytes);
  for (int64_t bytes : gatherBytes) {
    note("gathers");
    uint64_t count = uint64_t(bytes) / 4 / options.ranks;
    std::vector<float> from(count), to(count * options.ranks);
    HOCKET_ASSIGN_OR_RETURN(double seconds, timer->untilDone([&] {
      return world.allGather(from.data(), to.data(), count, DType::F32);
    }));
    result.gathers.push_back(
        {double(count) * 4 * double(options.ranks), seconds});
  }
  return okStatus();
}

Status RankMeasurement::measureLaunches() {
  note("launches");
  constexpr int64_t few = 64;
  HOCKET_ASSIGN_OR_RETURN(result.kernelSeconds, timeAddition(few));
  next = 0;
  Range target = range(few);
  HOCKET_ASSIGN_OR_RETURN(result.hostSeconds, timer->untilReturned([&] {
    return device->fill(0, target, 0);
  }));
  return okStatus();
}

/// Each on a device of its own; there is nothing left to do on this one.
Status RankMeasurement::measurePrograms() {
  timer.reset();
  device.reset();
  for (const SmallProgram &program : programs) {
    note("steps of programs");
    HOCKET_ASSIGN_OR_RETURN(
        auto own, hal::createDevice(options.driver, {options.threads, 0}));
    HOCKET_ASSIGN_OR_RETURN(
        ProgramSample sample,
        timeProgram(program, std::move(own), world, longer * share));
    result.programs.push_back(sample);
  }
  return okStatus();
}

Status RankMeasurement::measureAlone() {
  HOCKET_RETURN_IF_ERROR(open());
  HOCKET_RETURN_IF_ERROR(measureGemms());
  HOCKET_RETURN_IF_ERROR(measureAdditions());
  HOCKET_RETURN_IF_ERROR(measureAttention());
  HOCKET_RETURN_IF_ERROR(measureLaunches());
  return measurePrograms();
}

Status RankMeasurement::measureTogether() {
  HOCKET_RETURN_IF_ERROR(open());
  return measureGathers();
}

/// What rank 0 of `ranks` measured.
static StatusOr<DeviceMeasurements>
measureAt(unsigned ranks, const MeasureOptions &options,
          const std::vector<SmallProgram> &programs,
          Status (RankMeasurement::*measure)()) {
  struct Shared {
    std::mutex mutex;
    DeviceMeasurements result;
    MeasureOptions options;
    std::vector<SmallProgram> programs;
  };
  auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->programs = programs;
  comm::GroupTable table;
  table.ranks = ranks;
  HOCKET_RETURN_IF_ERROR(runLocalRanks(
      table, comm::WaitLimits(),
      [shared, measure](comm::CommunicatorSet &set) -> Status {
        RankMeasurement measurement(shared->options, shared->programs, set);
        HOCKET_RETURN_IF_ERROR((measurement.*measure)());
        std::lock_guard lock(shared->mutex);
        if (set.world().rank() == 0)
          shared->result = std::move(measurement.result);
        return okStatus();
      }));
  std::lock_guard lock(shared->mutex);
  return std::move(shared->result);
}

StatusOr<DeviceMeasurements>
planning::measureDevice(const MeasureOptions &asked) {
  MeasureOptions options = asked;
  HOCKET_ASSIGN_OR_RETURN(unsigned cores, WorkerPool::defaultCount());
  // As ranks that are threads of one process share them.
  if (options.threads == 0)
    options.threads = std::max(1U, cores / options.ranks);
  unsigned atOnce = std::clamp(cores / options.threads, 1U, options.ranks);
  std::vector<SmallProgram> programs;
  if (options.compile && options.driver == "cpu") {
    HOCKET_ASSIGN_OR_RETURN(
        programs, compileSmallPrograms(options.compile, options.seconds < 1));
  }
  HOCKET_ASSIGN_OR_RETURN(
      DeviceMeasurements result,
      measureAt(atOnce, options, programs, &RankMeasurement::measureAlone));
  result.atOnce = atOnce;
  if (options.ranks == 1)
    return std::move(result);
  HOCKET_ASSIGN_OR_RETURN(DeviceMeasurements together,
                          measureAt(options.ranks, options, programs,
                                    &RankMeasurement::measureTogether));
  result.gathers = std::move(together.gathers);
  return std::move(result);
}
