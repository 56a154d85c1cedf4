//===- OpTimes.cpp - What one op takes on one device ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/OpTimes.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::cluster;

OpTimes::OpTimes(const cluster::System &system, int64_t bits)
    : described(system) {
  const cluster::Device &device = system.device();
  double peak = bits == 32 ? device.peak_32bit() : device.peak_16bit();
  activationPeak = peak * software().gemm();
  bool narrow = bits == 8 && device.peak_8bit() > 0;
  weightPeak =
      narrow ? device.peak_8bit() * software().gemm_8bit() : activationPeak;
}

double OpTimes::memory(double bytes) const {
  return bytes / (described.device().memory_bandwidth() * software().memory());
}

double OpTimes::vector(double flops) const {
  const Device &device = described.device();
  return flops / (device.peak_vector() > 0 ? device.peak_vector()
                                           : device.peak_32bit());
}

/// Rows of 16 bits begin at multiples of 16 bytes. A rank's share of a
/// dimension that does not divide is the whole part.
static bool isAligned(const Gemm &gemm) {
  for (double dim : {gemm.m, gemm.n, gemm.k})
    if (std::fmod(std::floor(dim), 8) != 0)
      return false;
  return true;
}

double OpTimes::gemmAt(const Gemm &gemm, double peak) const {
  double ramp = software().gemm_ramp() * (1 / gemm.m + 1 / gemm.n + 1 / gemm.k);
  double compute = gemm.flops() * (1 + ramp) / peak;
  if (software().has_unaligned_gemm() && !isAligned(gemm))
    compute /= software().unaligned_gemm();
  double bytes =
      2 * gemm.count * (gemm.m * gemm.k + gemm.k * gemm.n + gemm.m * gemm.n);
  return std::max(compute, memory(bytes));
}

double OpTimes::gemm(const Gemm &gemm) const {
  return gemmAt(gemm, weightPeak);
}

double OpTimes::gemm16(const Gemm &gemm) const {
  return gemmAt(gemm, activationPeak);
}

double OpTimes::attention(double flops, double length, double headDim) const {
  return attention(flops, length, headDim, software().attention());
}

double OpTimes::attention(double flops, double length, double headDim,
                          double share) const {
  double narrow = std::min(1.0, headDim / 128);
  double reached = share * length / (length + software().attention_ramp()) *
                   std::sqrt(narrow);
  return flops / (described.device().peak_16bit() * reached);
}

OpTimes::Path OpTimes::pathOf(const RankGroup &group) const {
  double node = double(described.devices_per_node());
  double local =
      std::clamp(node / double(group.stride), 1.0, double(group.size));
  const cluster::Link &inside = described.node_link();
  Path path{inside.bandwidth() * inside.efficiency(), inside.latency(),
            inside.start(), local};
  if (local >= double(group.size))
    return path;
  const cluster::Link &outside = described.network();
  double shares = local * outside.bandwidth() * outside.efficiency();
  path.bandwidth = local > 1 ? std::min(path.bandwidth, shares) : shares;
  path.latency = outside.latency();
  path.start = outside.start();
  return path;
}

double OpTimes::ring(double bytes, double size, const Path &path) const {
  return bytes * (size - 1) / size / path.bandwidth + (size - 1) * path.latency;
}

double OpTimes::allGather(double bytes, const RankGroup &group) const {
  if (group.size <= 1)
    return 0;
  Path path = pathOf(group);
  return path.start + ring(bytes, double(group.size), path);
}

double OpTimes::allReduce(double bytes, const RankGroup &group) const {
  if (group.size <= 1)
    return 0;
  Path path = pathOf(group);
  double size = double(group.size);
  double tree = 2 * bytes / path.bandwidth +
                2 * std::ceil(std::log2(size)) * path.latency;
  return path.start + std::min(2 * ring(bytes, size, path), tree);
}

double OpTimes::dispatch(double bytes, double copies, const RankGroup &group,
                         double share) const {
  if (group.size <= 1)
    return 0;
  Path path = pathOf(group);
  double n = double(group.size), local = path.members;
  const cluster::Link &inside = described.node_link();
  // How often a token goes to one of so many places.
  auto toEach = [&](double places) {
    double open = std::max(1.0, share * places);
    double reached = open * (1 - std::pow(1 - 1 / open, copies));
    return (software().dispatch_once() ? reached : copies) / places;
  };
  double within = bytes * (local - 1) * toEach(n) /
                  (inside.bandwidth() * inside.efficiency());
  if (local >= n)
    return within + path.latency + path.start;
  const cluster::Link &outside = described.network();
  double nodes = n / local;
  double across = bytes * (nodes - 1) * toEach(nodes) /
                  (outside.bandwidth() * outside.efficiency());
  return std::max(within, across) + path.latency + path.start;
}

double OpTimes::toHost(double bytes) const {
  const cluster::Link &link = described.host_link();
  return link.latency() + bytes / (link.bandwidth() * link.efficiency());
}

double OpTimes::transfer(double bytes, const RankGroup &line) const {
  if (line.size <= 1)
    return 0;
  bool inside = line.size * line.stride <= described.devices_per_node();
  const cluster::Link &link =
      inside ? described.node_link() : described.network();
  return bytes / (link.bandwidth() * link.efficiency()) + link.latency() +
         link.start();
}
