//===- FitSystem.cpp - A system's constants from measurements -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/calibration/FitSystem.h"

#include "passes/planning/calibration/FitPrograms.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Whether a sample's time is one.
template <typename Sample> bool isTimed(const Sample &sample) {
  return sample.seconds > 0 && std::isfinite(sample.seconds);
}

/// Finds a ramp and, with it, the speed that work approaches: a time is
/// work * (1 + ramp * thinness) / speed.
class RampFit {
public:
  void add(double work, double thinness, double seconds) {
    samples.push_back({work, thinness, seconds});
  }
  /// The median makes the mean of absolute logarithms least.
  double speedAt(double ramp) const {
    std::vector<double> speeds;
    for (const Sample &sample : samples)
      speeds.push_back(sample.work * (1 + ramp * sample.thinness) /
                       sample.seconds);
    return median(speeds);
  }
  double errorAt(double ramp) const {
    double speed = speedAt(ramp), sum = 0;
    for (const Sample &sample : samples)
      sum += std::abs(std::log(sample.work * (1 + ramp * sample.thinness) /
                               speed / sample.seconds));
    return sum;
  }

private:
  struct Sample {
    double work, thinness, seconds;
  };
  std::vector<Sample> samples;
};

/// Of 0, 1, 1.2, 1.44, ... up to `most`, the one with the least error.
double bestRamp(double most, const std::function<double(double)> &errorAt) {
  constexpr double growth = 1.2;
  double best = 0, least = errorAt(0);
  for (double ramp = 1; ramp <= most; ramp *= growth)
    if (double error = errorAt(ramp); error < least) {
      least = error;
      best = ramp;
    }
  return best;
}

class SystemFit {
public:
  explicit SystemFit(const DeviceMeasurements &measured) : measured(measured) {}

  Status run(FittedSystem &result);

private:
  Status check() const;
  void fillConstants();
  void fitGemms();
  void fitMemory();
  void fitAttention();
  void fitLink();
  void judgeKernels();
  template <typename Samples, typename Predict>
  void judge(const char *kind, const Samples &samples, Predict predict);
  void setSpread();
  /// Of a rank's speed, what it has while all of them work.
  double ownShare() const {
    return double(measured.atOnce) / double(measured.ranks);
  }

  const DeviceMeasurements &measured;
  cluster::System system;
  std::vector<FitQuality> quality;
  std::vector<double> heldOut; ///< By how much each sample is off.
};

} // namespace

double planning::median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

Status SystemFit::check() const {
  auto wrong = [](const char *kind) {
    return invalidArgument("there is no measurement of " + std::string(kind) +
                           ", or one without a time");
  };
  auto bad = [](const auto &samples) {
    return samples.empty() ||
           !std::all_of(samples.begin(), samples.end(),
                        [](const auto &sample) { return isTimed(sample); });
  };
  for (int64_t bits : {16, 32})
    if (std::none_of(measured.gemms.begin(), measured.gemms.end(),
                     [&](const auto &sample) { return sample.bits == bits; }))
      return wrong(bits == 16 ? "GEMMs of 16 bits" : "GEMMs of 32 bits");
  if (bad(measured.gemms))
    return wrong("GEMMs");
  if (bad(measured.moves))
    return wrong("memory");
  if (bad(measured.attentions))
    return wrong("attention");
  if (measured.ranks > 1 && bad(measured.gathers))
    return wrong("gathers");
  return okStatus();
}

/// What is known, and what is not measured.
void SystemFit::fillConstants() {
  system.set_name(measured.driver);
  cluster::Device &device = *system.mutable_device();
  device.set_name(measured.name);
  device.set_memory_bytes(std::max<int64_t>(1, measured.memoryBytes));
  device.set_peak_8bit(0);
  system.set_devices_per_node(measured.ranks);
  if (measured.atOnce < measured.ranks)
    system.set_devices_at_once(double(measured.atOnce));
  cluster::Software &software = *system.mutable_software();
  software.set_gemm(1);
  software.set_gemm_8bit(0);
  software.set_memory(1);
  software.set_kernel_seconds(measured.kernelSeconds);
  software.set_host_op_seconds(measured.hostSeconds);
  software.set_host_collective_seconds(measured.hostSeconds);
  software.set_expert_host_seconds(0);
  software.set_tensor_overlap(0);
  software.set_data_overlap(0);
  software.set_expert_overlap(0);
  software.set_blocking_transfers(true);
  // AdamW: the gradient, the parameter and two moments, all but the first
  // written too.
  constexpr double updateBytes = 28;
  software.set_update_bytes(updateBytes);
  software.set_gradient_bytes(4);
  software.set_step_seconds(0);
}

void SystemFit::fitGemms() {
  RampFit fits[2];
  for (size_t i = 0; i < measured.gemms.size(); ++i) {
    const auto &[gemm, bits, seconds] = measured.gemms[i];
    if (isFitted(i))
      fits[bits == 16].add(gemm.flops(), 1 / gemm.m + 1 / gemm.n + 1 / gemm.k,
                           seconds);
  }
  constexpr double most = 4096;
  double ramp = bestRamp(most, [&](double ramp) {
    return fits[0].errorAt(ramp) + fits[1].errorAt(ramp);
  });
  system.mutable_software()->set_gemm_ramp(ramp);
  system.mutable_device()->set_peak_32bit(fits[0].speedAt(ramp));
  system.mutable_device()->set_peak_16bit(fits[1].speedAt(ramp));
}

void SystemFit::fitMemory() {
  std::vector<double> speeds;
  for (size_t i = 0; i < measured.moves.size(); ++i)
    if (isFitted(i))
      speeds.push_back(measured.moves[i].bytes / measured.moves[i].seconds);
  system.mutable_device()->set_memory_bandwidth(median(speeds));
}

void SystemFit::fitAttention() {
  RampFit fit;
  constexpr double wholeDim = 128;
  for (size_t i = 0; i < measured.attentions.size(); ++i) {
    const AttentionSample &sample = measured.attentions[i];
    double narrow = std::sqrt(std::min(1.0, sample.headDim / wholeDim));
    if (isFitted(i))
      fit.add(sample.flops / narrow, 1 / sample.length, sample.seconds);
  }
  constexpr double most = 65536;
  // Attention that never reaches its speed is a ramp too long.
  double peak = system.device().peak_16bit();
  double ramp = bestRamp(most, [&](double ramp) {
    return fit.speedAt(ramp) <= peak ? fit.errorAt(ramp) : INFINITY;
  });
  double share = fit.speedAt(ramp) / peak;
  constexpr double least = 1e-3;
  system.mutable_software()->set_attention(std::clamp(share, least, 1.0));
  system.mutable_software()->set_attention_ramp(ramp);
}

/// A gather of B bytes takes B (n - 1) / n / bandwidth + (n - 1) latency, and
/// longer where ranks take turns.
void SystemFit::fitLink() {
  cluster::Link link;
  link.set_bandwidth(system.device().memory_bandwidth());
  link.set_efficiency(1);
  link.set_latency(0);
  if (measured.ranks > 1) {
    auto steps = double(measured.ranks - 1);
    auto order = [](const GatherSample &a, const GatherSample &b) {
      return a.bytes < b.bytes;
    };
    auto [small, large] = std::minmax_element(measured.gathers.begin(),
                                              measured.gathers.end(), order);
    double own = ownShare();
    link.set_latency(own * small->seconds / steps);
    double rest =
        own * std::max(large->seconds - small->seconds,
                       large->seconds / double(measured.gathers.size()));
    link.set_bandwidth(large->bytes * steps / double(measured.ranks) / rest);
  }
  *system.mutable_node_link() = link;
  *system.mutable_network() = link;
}

template <typename Samples, typename Predict>
void SystemFit::judge(const char *kind, const Samples &samples,
                      Predict predict) {
  FitQuality judged{kind, samples.size(), 0, 0};
  double counts[2] = {0, 0};
  for (size_t i = 0; i < samples.size(); ++i) {
    auto [told, seconds] = predict(samples[i]);
    double off = std::abs(told / seconds - 1);
    (isFitted(i) ? judged.fitted : judged.heldOut) += off;
    ++counts[isFitted(i)];
    if (!isFitted(i))
      heldOut.push_back(off);
  }
  judged.fitted /= std::max(1.0, counts[1]);
  judged.heldOut /= std::max(1.0, counts[0]);
  if (!samples.empty())
    quality.push_back(std::move(judged));
}

void SystemFit::judgeKernels() {
  cluster::OpTimes wide(system, 32), narrow(system, 16);
  judge("GEMMs", measured.gemms, [&](const GemmSample &sample) {
    const cluster::OpTimes &times = sample.bits == 16 ? narrow : wide;
    return std::pair(times.gemm(sample.gemm), sample.seconds);
  });
  judge("memory", measured.moves, [&](const MemorySample &sample) {
    return std::pair(wide.memory(sample.bytes), sample.seconds);
  });
  judge("attention", measured.attentions, [&](const AttentionSample &sample) {
    return std::pair(
        wide.attention(sample.flops, sample.length, sample.headDim),
        sample.seconds);
  });
  judge("gathers", measured.gathers, [&](const GatherSample &sample) {
    double alone = wide.allGather(sample.bytes, {measured.ranks, 1});
    return std::pair(alone / ownShare(), sample.seconds);
  });
}

/// Two thirds of what was held out is within it.
void SystemFit::setSpread() {
  std::sort(heldOut.begin(), heldOut.end());
  constexpr double least = 1e-3, most = 10;
  double spread = heldOut.empty() ? most : heldOut[heldOut.size() * 2 / 3];
  spread = std::clamp(spread, least, most);
  cluster::Spread &fitted = *system.mutable_spread();
  fitted.set_one_node(spread);
  fitted.set_many_nodes(spread);
  fitted.set_experts(spread);
}

Status SystemFit::run(FittedSystem &result) {
  HOCKET_RETURN_IF_ERROR(check());
  fillConstants();
  fitGemms();
  fitMemory();
  fitAttention();
  fitLink();
  judgeKernels();
  correctByPrograms(measured.programs, system);
  judge("steps", measured.programs, [&](const ProgramSample &sample) {
    return std::pair(predictedStep(system, sample).seconds(), sample.seconds());
  });
  setSpread();
  result = {system, std::move(quality)};
  return okStatus();
}

StatusOr<FittedSystem>
planning::fitSystem(const DeviceMeasurements &measurements) {
  FittedSystem result;
  HOCKET_RETURN_IF_ERROR(SystemFit(measurements).run(result));
  return result;
}
