//===- Systems.cpp - Descriptions of clusters -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Systems.h"

#include "base/File.h"
#include "base/Format.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <charconv>
#include <cmath>

using namespace hocket;
using namespace hocket::cluster;

namespace {

struct ShippedSystem {
  const char *name;
  const char *text;
};

constexpr ShippedSystem shipped[] = {
#include "SystemTexts.inc"
};

/// Keeps the first error of the text.
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  explicit FirstError(std::string file) : file(std::move(file)) {}

  void AddError(int line, int column, const std::string &text) override {
    if (message.empty())
      message = file + ":" + std::to_string(line + 1) + ":" +
                std::to_string(column + 1) + ": " + text;
  }
  std::string message;

private:
  std::string file;
};

/// A field, and the range that it must be in.
struct Range {
  double value, least, most;
  const char *name;
};

Status checkRanges(const std::string &file, const std::vector<Range> &ranges) {
  for (const Range &range : ranges)
    if (!(range.value >= range.least && range.value <= range.most))
      return invalidArgument(file + ": " + range.name + " is " +
                             formatText("%g; write a number from %g to %g",
                                        range.value, range.least, range.most));
  return okStatus();
}

Status checkSystem(const std::string &file, const cluster::System &system) {
  const cluster::Device &device = system.device();
  const cluster::Software &soft = system.software();
  const cluster::Link &node = system.node_link(), &net = system.network();
  constexpr double least = 1e-3, tiny = 1e-9;
  return checkRanges(
      file,
      {{double(device.memory_bytes()), 1, 1e15, "device.memory_bytes"},
       {device.peak_32bit(), 1e6, 1e18, "device.peak_32bit"},
       {device.peak_16bit(), 1e6, 1e18, "device.peak_16bit"},
       {device.peak_8bit(), 0, 1e18, "device.peak_8bit"},
       {device.memory_bandwidth(), 1e6, 1e15, "device.memory_bandwidth"},
       {double(system.devices_per_node()), 1, 1e6, "devices_per_node"},
       {system.has_devices_at_once() ? system.devices_at_once() : 1, 1, 1e6,
        "devices_at_once"},
       {node.bandwidth(), 1e3, 1e15, "node_link.bandwidth"},
       {node.efficiency(), least, 1, "node_link.efficiency"},
       {node.latency(), 0, 1, "node_link.latency"},
       {node.start(), 0, 1, "node_link.start"},
       {net.bandwidth(), 1e3, 1e15, "network.bandwidth"},
       {net.efficiency(), least, 1, "network.efficiency"},
       {net.latency(), 0, 1, "network.latency"},
       {net.start(), 0, 1, "network.start"},
       {soft.gemm(), least, 1, "software.gemm"},
       {soft.gemm_ramp(), 0, 1e5, "software.gemm_ramp"},
       {soft.gemm_8bit(), device.peak_8bit() > 0 ? least : 0, 1,
        "software.gemm_8bit"},
       {soft.memory(), least, 1, "software.memory"},
       {soft.attention(), 0, 1, "software.attention"},
       {soft.attention_ramp(), 0, 1e6, "software.attention_ramp"},
       {soft.attention_backward(), 1e-2, 1e2, "software.attention_backward"},
       {soft.kernel_seconds(), 0, 1, "software.kernel_seconds"},
       {soft.host_op_seconds(), 0, 1, "software.host_op_seconds"},
       {soft.host_collective_seconds(), 0, 1,
        "software.host_collective_seconds"},
       {soft.expert_host_seconds(), 0, 1, "software.expert_host_seconds"},
       {soft.tensor_overlap(), 0, 1, "software.tensor_overlap"},
       {soft.data_overlap(), 0, 1, "software.data_overlap"},
       {soft.expert_overlap(), 0, 1, "software.expert_overlap"},
       {soft.beside_overlap(), 0, 1, "software.beside_overlap"},
       {soft.beside_host(), 1, 100, "software.beside_host"},
       {soft.weight_overlap(), 0, 1, "software.weight_overlap"},
       {soft.loss_bytes(), 0, 1e3, "software.loss_bytes"},
       {soft.unaligned_gemm(), least, 1, "software.unaligned_gemm"},
       {soft.update_bytes(), 0, 1e4, "software.update_bytes"},
       {double(soft.gradient_bytes()), 1, 8, "software.gradient_bytes"},
       {soft.quantize_bytes(), 0, 64, "software.quantize_bytes"},
       {soft.tensor_quantize_bytes(), 0, 64, "software.tensor_quantize_bytes"},
       {soft.expert_gemm(), least, 1, "software.expert_gemm"},
       {soft.expert_moves(), 0, 64, "software.expert_moves"},
       {soft.expert_launches(), 0, 64, "software.expert_launches"},
       {soft.step_seconds(), 0, 100, "software.step_seconds"},
       {system.spread().one_node(), tiny, 10, "spread.one_node"},
       {system.spread().many_nodes(), tiny, 10, "spread.many_nodes"},
       {system.spread().experts(), tiny, 10, "spread.experts"}});
}

/// Every earlier software is a whole one, and they are in order; so is that of
/// traces.
Status checkEarlier(const std::string &file, const cluster::System &system) {
  std::string before;
  cluster::System traced = system;
  traced.mutable_software()->MergeFrom(system.traced());
  HOCKET_RETURN_IF_ERROR(checkSystem(file + ": traced", traced));
  for (const cluster::EarlierSoftware &earlier : system.earlier()) {
    if (earlier.before() <= before)
      return invalidArgument(file + ": earlier.before is '" + earlier.before() +
                             "'; write releases in ascending order");
    cluster::System then = system;
    then.mutable_software()->MergeFrom(earlier.software());
    HOCKET_RETURN_IF_ERROR(
        checkSystem(file + ": earlier, before " + earlier.before(), then));
    before = earlier.before();
  }
  return okStatus();
}

/// A system that has a host to offload to says how large and how far it is.
Status checkHost(const std::string &file, const cluster::System &system) {
  if (!system.has_host_link() && !system.has_host_memory_bytes())
    return okStatus();
  const cluster::Link &link = system.host_link();
  constexpr double least = 1e-3;
  return checkRanges(
      file, {{double(system.host_memory_bytes()), 1, 1e15, "host_memory_bytes"},
             {link.bandwidth(), 1e3, 1e15, "host_link.bandwidth"},
             {link.efficiency(), least, 1, "host_link.efficiency"},
             {link.latency(), 0, 1, "host_link.latency"}});
}

/// A system whose kernels are priced one by one says all that this takes.
Status checkKernels(const std::string &file, const cluster::System &system) {
  const cluster::Device &device = system.device();
  const cluster::Multiprocessors &each = device.multiprocessors();
  const cluster::Kernels &kernels = system.kernels();
  if (!device.has_multiprocessors() && !system.has_kernels())
    return okStatus();
  constexpr double least = 1e-3;
  if (!each.architecture().starts_with("sm_"))
    return invalidArgument(file + ": device.multiprocessors.architecture is '" +
                           each.architecture() +
                           "'; write whose code they run, as in sm_90a");
  return checkRanges(
      file,
      {{device.peak_vector(), 1e6, 1e18, "device.peak_vector"},
       {device.memory_latency(), 1e-9, 1, "device.memory_latency"},
       {double(each.count()), 1, 1e6, "device.multiprocessors.count"},
       {double(each.threads()), 32, 1e6, "device.multiprocessors.threads"},
       {double(each.blocks()), 1, 1e6, "device.multiprocessors.blocks"},
       {double(each.registers()), 1024, 1e9,
        "device.multiprocessors.registers"},
       {double(each.shared_bytes()), 1024, 1e9,
        "device.multiprocessors.shared_bytes"},
       {kernels.gemm(), least, 1, "kernels.gemm"},
       {kernels.gemm_8bit(), device.peak_8bit() > 0 ? least : 0, 1,
        "kernels.gemm_8bit"},
       {kernels.memory(), least, 1, "kernels.memory"},
       {kernels.start_seconds(), 0, 1, "kernels.start_seconds"},
       {kernels.step_seconds(), 0, 100, "kernels.step_seconds"},
       {kernels.attention(), 0, 1, "kernels.attention"},
       {kernels.epilogue(), 0, 100, "kernels.epilogue"}});
}

} // namespace

std::vector<std::string> cluster::systemNames() {
  std::vector<std::string> names;
  for (const ShippedSystem &system : shipped)
    names.emplace_back(system.name);
  return names;
}

StatusOr<cluster::System> cluster::systemNamed(const std::string &name) {
  std::string all;
  for (const ShippedSystem &system : shipped) {
    if (name == system.name)
      return parseSystem(name, system.text);
    all += (all.empty() ? "" : ", ") + std::string(system.name);
  }
  return invalidArgument("no system is called '" + name + "'; there are " +
                         all + ", or write the path of a description");
}

cluster::System cluster::systemAtRelease(cluster::System system,
                                         const std::string &release) {
  for (const cluster::EarlierSoftware &earlier : system.earlier())
    if (!release.empty() && release < earlier.before()) {
      const cluster::Software &then = earlier.software();
      system.mutable_software()->MergeFrom(then);
      break;
    }
  return system;
}

StatusOr<cluster::System> cluster::parseSystem(const std::string &file,
                                               const std::string &text) {
  google::protobuf::TextFormat::Parser parser;
  FirstError errors(file);
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(16);
  cluster::System system;
  if (!parser.ParseFromString(text, &system))
    return invalidArgument(errors.message);
  HOCKET_RETURN_IF_ERROR(checkSystem(file, system));
  HOCKET_RETURN_IF_ERROR(checkEarlier(file, system));
  HOCKET_RETURN_IF_ERROR(checkHost(file, system));
  HOCKET_RETURN_IF_ERROR(checkKernels(file, system));
  return system;
}

StatusOr<cluster::System> cluster::readSystem(const std::string &name) {
  if (name.find_first_of("/.") == std::string::npos)
    return systemNamed(name);
  HOCKET_ASSIGN_OR_RETURN(std::string written, readFile(name, 1 << 20));
  return parseSystem(name, written);
}

StatusOr<ClusterChoice> cluster::readCluster(const std::string &text) {
  size_t colon = text.rfind(':');
  std::string name = text.substr(0, colon);
  std::string count = colon == std::string::npos ? "" : text.substr(colon + 1);
  ClusterChoice choice;
  const char *end = count.data() + count.size();
  auto [rest, error] = std::from_chars(count.data(), end, choice.devices);
  if (error != std::errc() || rest != end || choice.devices < 1 ||
      choice.devices > (1 << 20))
    return invalidArgument("--cluster " + text +
                           ": write a system and how many devices, from 1 to "
                           "1048576, as in h100:1024");
  StatusOr<cluster::System> system = readSystem(name);
  if (!system.ok())
    return system.status().withContext("--cluster " + text);
  choice.system = *std::move(system);
  return choice;
}
