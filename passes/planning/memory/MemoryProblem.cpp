//===- MemoryProblem.cpp - Buffers that share memory ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/MemoryProblem.h"

#include "passes/planning/memory/MemoryItems.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

static Status problemError(const std::string &message) {
  return invalidArgument("Q60: " + message);
}

static bool within(int64_t value, int64_t most) {
  return value >= 0 && value <= most;
}

static Status checkGaps(const MemoryBuffer &buffer) {
  int64_t end = buffer.lower;
  for (const MemoryGap &gap : buffer.gaps) {
    if (gap.lower < end || gap.lower >= gap.upper || gap.upper > buffer.upper)
      return problemError(
          "expected gaps inside the lifetime, in order and apart");
    if (gap.first < 0 || gap.first > gap.last || gap.last > buffer.size)
      return problemError("expected a gap's bytes inside the buffer");
    end = gap.upper;
  }
  return okStatus();
}

static Status checkHost(const MemoryProblem &problem, size_t index) {
  const MemoryBuffer &buffer = problem.buffers[index];
  if (!within(*buffer.host, static_cast<int64_t>(problem.buffers.size()) - 1) ||
      *buffer.host == static_cast<int64_t>(index))
    return problemError("expected another buffer as host");
  const MemoryBuffer &host = problem.buffers[*buffer.host];
  if (host.host)
    return problemError("expected a host that has none itself");
  if (host.arena != buffer.arena)
    return problemError("expected a host of the same arena");
  if (buffer.offset)
    return problemError("expected no offset beside a host");
  if (buffer.within < 0 || buffer.within > host.size ||
      buffer.size > host.size - buffer.within)
    return problemError("expected a host that holds the buffer");
  return okStatus();
}

Status hocket::planning::checkMemoryBuffer(const MemoryProblem &problem,
                                           size_t index) {
  const MemoryBuffer &buffer = problem.buffers[index];
  if (!within(buffer.lower, kMostUnits) || !within(buffer.upper, kMostUnits) ||
      !within(buffer.size, kMostUnits))
    return problemError("expected times and sizes from 0 to 2^60");
  if (buffer.lower >= buffer.upper)
    return problemError("expected a lifetime that ends after it has begun");
  if (buffer.alignment < 1 || buffer.alignment > kMostAlignment)
    return problemError("expected an alignment from 1 to 2^40");
  if (buffer.offset && !within(*buffer.offset, kMostUnits))
    return problemError("expected an offset from 0 to 2^60");
  if (buffer.offset && *buffer.offset % buffer.alignment != 0)
    return problemError("expected a fixed offset that is aligned");
  if (Status gaps = checkGaps(buffer); !gaps.ok())
    return gaps;
  return buffer.host ? checkHost(problem, index) : okStatus();
}

Status hocket::planning::checkMemoryProblem(const MemoryProblem &problem) {
  if (problem.buffers.size() > kMostBuffers)
    return problemError("expected at most " + std::to_string(kMostBuffers) +
                        " buffers");
  int64_t sum = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (Status checked = checkMemoryBuffer(problem, i); !checked.ok())
      return checked.withContext("buffer " + std::to_string(i));
    sum += problem.buffers[i].size;
    if (sum > kMostUnits)
      return problemError("expected sizes whose sum is within 2^60");
  }
  return okStatus();
}

std::map<std::string, int64_t>
hocket::planning::memoryPeaks(const MemoryProblem &problem,
                              const MemoryOffsets &offsets) {
  std::map<std::string, int64_t> peaks;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    int64_t &peak = peaks[problem.buffers[i].arena];
    peak = std::max(peak, offsets[i] + problem.buffers[i].size);
  }
  return peaks;
}

std::map<std::string, int64_t>
hocket::planning::memoryLowerBounds(const MemoryProblem &problem) {
  std::map<std::string, int64_t> bounds;
  for (const MemoryBuffer &buffer : problem.buffers)
    bounds[buffer.arena] = 0;
  for (const MemoryRegion &region : memoryRegions(problem)) {
    int64_t &bound = bounds[region.arena];
    bound = std::max(bound, region.lowerBound());
  }
  return bounds;
}
