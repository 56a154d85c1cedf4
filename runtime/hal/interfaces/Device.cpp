//===- Device.cpp - Checks that every driver shares -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/interfaces/Device.h"

#include "base/CheckedMath.h"
#include "base/Format.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::hal;

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

Status Device::allocateArena(uint64_t bytes) {
  if (hasArena)
    return invalidArgument("the arena is allocated already");
  HOCKET_RETURN_IF_ERROR(doAllocateArena(bytes));
  hasArena = true;
  arenaSize = bytes;
  return okStatus();
}

Status Device::createQueues(uint32_t streams, uint32_t events) {
  if (hasQueues)
    return invalidArgument("the streams are created already");
  if (streams == 0)
    return invalidArgument("a device wants at least one stream");
  HOCKET_RETURN_IF_ERROR(doCreateQueues(streams, events));
  hasQueues = true;
  streamCount = streams;
  eventCount = events;
  clocks.assign(streams, 0);
  return okStatus();
}

Status Device::reserveScratch(uint64_t bytes) {
  return doReserveScratch(bytes);
}

StatusOr<ModuleId> Device::loadModule(const std::string &name,
                                      std::span<const ModuleVariant> variants) {
  if (variants.empty())
    return invalidArgument("module '" + name + "' has no variant");
  HOCKET_RETURN_IF_ERROR(doLoadModule(name, variants));
  return moduleCount++;
}

StatusOr<KernelId> Device::findKernel(ModuleId module,
                                      const std::string &symbol) {
  if (module >= moduleCount)
    return invalidArgument(formatText("module %u does not exist, there are %u",
                                      module, moduleCount));
  HOCKET_RETURN_IF_ERROR(doFindKernel(module, symbol));
  return kernelCount++;
}

//===----------------------------------------------------------------------===//
// Argument checks
//===----------------------------------------------------------------------===//

Status Device::checkStream(StreamId stream) const {
  if (stream < streamCount)
    return okStatus();
  return invalidArgument(formatText("stream %u does not exist, there are %u",
                                    stream, streamCount));
}

Status Device::checkEvent(EventId event) const {
  if (event < eventCount)
    return okStatus();
  return invalidArgument(
      formatText("event %u does not exist, there are %u", event, eventCount));
}

void Device::noteUse(Range range) const {
  // Streams may have a thread each.
  uint64_t end = range.offset + range.bytes, known = touched;
  while (known < end && !touched.compare_exchange_weak(known, end)) {
  }
}

Status Device::checkRange(const char *what, Range range) const {
  if (rangeInside(range.offset, range.bytes, arenaSize)) {
    noteUse(range);
    return okStatus();
  }
  return invalidArgument(
      formatText("%s: bytes [%llu, +%llu) lie outside the arena of %llu", what,
                 wide(range.offset), wide(range.bytes), wide(arenaSize)));
}

Status Device::checkOperand(const char *what, const Operand &operand,
                            uint64_t elements, bool factor) const {
  HOCKET_RETURN_IF_ERROR(checkRange(what, operand.range));
  bool floating = operand.dtype == DType::F32 || operand.dtype == DType::BF16 ||
                  operand.dtype == DType::F16 ||
                  (factor && kernels::isF8(operand.dtype));
  if (!floating)
    return invalidArgument(formatText("%s: has no floating type", what));
  uint64_t needed = elements * uint64_t(kernels::bytesOf(operand.dtype));
  if (operand.range.bytes >= needed)
    return okStatus();
  return invalidArgument(formatText("%s: has %llu bytes, %llu are needed", what,
                                    wide(operand.range.bytes), wide(needed)));
}

Status Device::checkOperandTypes(const GemmCall &call) const {
  HOCKET_RETURN_IF_ERROR(
      checkOperand("gemm a", call.a, call.m * call.k, /*factor=*/true));
  if (call.packedB) {
    HOCKET_RETURN_IF_ERROR(checkOperand("gemm b", call.b, 0));
    int64_t needed =
        kernels::packedBytes(call.b.dtype, int64_t(call.n), int64_t(call.k));
    if (call.b.range.bytes < uint64_t(needed))
      return invalidArgument(
          formatText("gemm packed b: has %llu bytes, %lld are needed",
                     wide(call.b.range.bytes), (long long)needed));
  } else {
    HOCKET_RETURN_IF_ERROR(
        checkOperand("gemm b", call.b, call.k * call.n, /*factor=*/true));
  }
  if (kernels::KernelError error =
          kernels::checkOperandTypes(call.a.dtype, call.b.dtype))
    return invalidArgument(std::string("gemm: ") + error);
  for (const Operand *scale : {&call.scaleA, &call.scaleB}) {
    if (scale->range.bytes == 0)
      continue;
    if (!kernels::isF8(call.a.dtype) || scale->dtype != DType::F32)
      return invalidArgument("gemm: a scale is an f32 for 8-bit elements");
    HOCKET_RETURN_IF_ERROR(checkOperand("gemm scale", *scale, 1));
  }
  return okStatus();
}

Status Device::checkGemm(const GemmCall &call) const {
  constexpr uint64_t limit = (uint64_t(1) << 31) - 1;
  for (uint64_t size : {call.m, call.n, call.k})
    if (size == 0 || size > limit)
      return invalidArgument("gemm: m, n and k must be from 1 to 2^31 - 1");
  HOCKET_RETURN_IF_ERROR(checkOperandTypes(call));
  HOCKET_RETURN_IF_ERROR(checkOperand("gemm d", call.d, call.m * call.n));
  if (call.bias.range.bytes)
    HOCKET_RETURN_IF_ERROR(checkOperand("gemm bias", call.bias, call.n));
  if (call.auxiliary.range.bytes)
    HOCKET_RETURN_IF_ERROR(
        checkOperand("gemm auxiliary", call.auxiliary, call.m * call.n));
  if (call.residual.range.bytes)
    HOCKET_RETURN_IF_ERROR(
        checkOperand("gemm residual", call.residual, call.m * call.n));
  if (call.preactivation.range.bytes)
    HOCKET_RETURN_IF_ERROR(checkOperand("gemm preactivation",
                                        call.preactivation, call.m * call.n));
  if (call.biasGradient.range.bytes)
    HOCKET_RETURN_IF_ERROR(
        checkOperand("gemm bias gradient", call.biasGradient, call.m));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Status Device::launch(StreamId stream, const LaunchCall &call) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  if (call.kernel >= kernelCount)
    return invalidArgument(formatText("kernel %u does not exist, there are %u",
                                      call.kernel, kernelCount));
  if (call.tasks < 0)
    return invalidArgument("a launch of fewer than 0 tasks");
  for (const Range &range : call.buffers)
    HOCKET_RETURN_IF_ERROR(checkRange("launch", range));
  return doLaunch(stream, call);
}

Status Device::prepareGemms(std::span<const GemmCall> calls) {
  HOCKET_RETURN_IF_ERROR(checkStream(0));
  for (const GemmCall &call : calls)
    HOCKET_RETURN_IF_ERROR(checkGemm(call));
  return doPrepareGemms(calls);
}

Status Device::prepareLibrary(std::span<const LibraryCall> calls) {
  std::vector<LibraryCall> named;
  for (const LibraryCall &call : calls)
    if (call.op)
      named.push_back(call);
  return doPrepareLibrary(named);
}

Status Device::gemm(StreamId stream, const GemmCall &call) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  HOCKET_RETURN_IF_ERROR(checkGemm(call));
  return doGemm(stream, call);
}

Status Device::library(StreamId stream, const LibraryCall &call) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  if (!call.op)
    return invalidArgument("library: no op is named");
  constexpr size_t inlineCount = 32;
  int64_t inlineNeeded[inlineCount] = {};
  std::vector<int64_t> more;
  std::span<int64_t> needed(inlineNeeded,
                            std::min(call.buffers.size(), inlineCount));
  if (call.buffers.size() > inlineCount) {
    more.resize(call.buffers.size());
    needed = more;
  }
  kernels::KernelError error = kernels::requiredBytes(
      *call.op, call.integers, call.floats, call.scalars.size(), needed);
  std::string name(call.op->name);
  if (error)
    return invalidArgument("library op '" + name + "': " + error);
  for (size_t i = 0; i < call.buffers.size(); ++i) {
    HOCKET_RETURN_IF_ERROR(checkRange(name.c_str(), call.buffers[i]));
    if (call.buffers[i].bytes < uint64_t(needed[i]))
      return invalidArgument(formatText(
          "library op '%s': operand %zu has %llu bytes, %lld are needed",
          name.c_str(), i, wide(call.buffers[i].bytes), (long long)needed[i]));
  }
  return doLibrary(stream, call);
}

Status Device::copy(StreamId stream, Range from, Range to) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  HOCKET_RETURN_IF_ERROR(checkRange("copy from", from));
  HOCKET_RETURN_IF_ERROR(checkRange("copy to", to));
  if (from.bytes != to.bytes)
    return invalidArgument(formatText("copy of %llu bytes into %llu",
                                      wide(from.bytes), wide(to.bytes)));
  if (from.offset < to.offset + to.bytes &&
      to.offset < from.offset + from.bytes)
    return invalidArgument("copy between ranges that overlap");
  return doCopy(stream, from, to);
}

Status Device::fill(StreamId stream, Range range, uint8_t value) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  HOCKET_RETURN_IF_ERROR(checkRange("fill", range));
  return doFill(stream, range, value);
}

Status Device::copyFromHost(StreamId stream, const void *from, Range to) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  HOCKET_RETURN_IF_ERROR(checkRange("copy from host", to));
  return doCopyFromHost(stream, from, to);
}

Status Device::copyToHost(StreamId stream, Range from, void *to) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  HOCKET_RETURN_IF_ERROR(checkRange("copy to host", from));
  return doCopyToHost(stream, from, to);
}

Status Device::travelled(StreamId stream, uint64_t bytes) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  return doTravelled(stream, bytes);
}

Status Device::record(StreamId stream, EventId event) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  HOCKET_RETURN_IF_ERROR(checkEvent(event));
  return doRecord(stream, event);
}

Status Device::wait(StreamId stream, EventId event) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  HOCKET_RETURN_IF_ERROR(checkEvent(event));
  return doWait(stream, event);
}

//===----------------------------------------------------------------------===//
// CUDA graphs
//===----------------------------------------------------------------------===//

Status Device::cannotCapture() const {
  return failedPrecondition(properties().name + " cannot capture a CUDA graph");
}

Status Device::beginCapture() {
  if (!canCapture())
    return cannotCapture();
  if (capturing)
    return failedPrecondition("work is being captured already");
  HOCKET_RETURN_IF_ERROR(checkStream(0));
  HOCKET_RETURN_IF_ERROR(doBeginCapture());
  capturing = true;
  return okStatus();
}

StatusOr<GraphId> Device::endCapture() {
  if (!capturing)
    return failedPrecondition("no work is being captured");
  capturing = false;
  HOCKET_RETURN_IF_ERROR(doEndCapture());
  return graphCount++;
}

Status Device::checkGraph(GraphId graph) const {
  if (graph >= graphCount)
    return invalidArgument(formatText("graph %u does not exist, there are "
                                      "%u",
                                      graph, graphCount));
  if (capturing)
    return failedPrecondition("work is being captured");
  return okStatus();
}

Status Device::beginUpdate(GraphId graph) {
  HOCKET_RETURN_IF_ERROR(checkGraph(graph));
  return doBeginUpdate(graph);
}

Status Device::replay(GraphId graph) {
  HOCKET_RETURN_IF_ERROR(checkGraph(graph));
  return doReplay(graph);
}

StatusOr<void *> Device::allocateHostMemory(uint64_t bytes) {
  if (capturing)
    return failedPrecondition("work is being captured");
  return doAllocateHostMemory(bytes);
}

void Device::joinTimes() {
  double last = *std::max_element(clocks.begin(), clocks.end());
  std::fill(clocks.begin(), clocks.end(), last);
}

Status Device::synchronize(StreamId stream) {
  HOCKET_RETURN_IF_ERROR(checkStream(stream));
  if (capturing)
    return failedPrecondition("nothing can be waited for while work is "
                              "recorded");
  return doSynchronize(stream);
}

Status Device::synchronize() {
  for (StreamId stream = 0; stream < streamCount; ++stream)
    HOCKET_RETURN_IF_ERROR(doSynchronize(stream));
  return okStatus();
}
