//===- StrategyTimes.cpp - What a way to split an op takes ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/strategies/StrategyTimes.h"

#include "dialects/xf/IR/XfConstraints.h"
#include "dialects/xf/IR/XfInterfaces.h"
#include "passes/dist/Reshard.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;
using cluster::RankGroup;

static constexpr double nanosecondsPerSecond = 1e9;

static int64_t nanoseconds(double seconds) {
  return std::llround(seconds * nanosecondsPerSecond);
}

static int64_t bytesOf(RankedTensorType type) {
  return type.getNumElements() *
         int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

int64_t hocket::dist::localBytes(const Mesh &mesh, RankedTensorType type,
                                 const Sharding &sharding) {
  return bytesOf(mesh.localType(type, sharding));
}

StrategyTimes::StrategyTimes(MeshOp op, const Mesh &mesh,
                             const cluster::System &system)
    : mesh(mesh), system(system), times(system, 16) {
  int64_t stride = 1;
  for (auto [axis, size] :
       llvm::reverse(llvm::zip_equal(op.getAxes(), op.getSizes()))) {
    strides[cast<StringAttr>(axis).getValue()] = stride;
    stride *= size;
  }
}

RankGroup StrategyTimes::groupOf(const Axes &axes) const {
  RankGroup group;
  group.size = mesh.product(axes);
  group.stride = INT64_MAX;
  for (StringRef axis : axes)
    group.stride = std::min(group.stride, strides.lookup(axis));
  return group;
}

double StrategyTimes::rateOf(Operation *op) const {
  const auto &device = system.device();
  const auto &software = system.software();
  auto any = [&](auto matches) {
    return llvm::any_of(op->getOperandTypes(), [&](Type type) {
      return matches(getElementTypeOrSelf(type));
    });
  };
  if (device.peak_8bit() > 0 && any(xf::isF8))
    return device.peak_8bit() * software.gemm_8bit();
  bool isWide = any([](Type type) { return type.isF32(); }) && !any(xf::isF8);
  return (isWide ? device.peak_32bit() : device.peak_16bit()) * software.gemm();
}

int64_t StrategyTimes::op(Operation *op, const xf::FactorRule &rule,
                          const OpSharding &strategy) const {
  double bytes = 0;
  auto add = [&](ValueRange values, ArrayRef<xf::TensorFactors> factors) {
    for (auto [value, dims] : llvm::zip(values, factors))
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        bytes += double(localBytes(mesh, type, strategy.of(dims)));
  };
  add(op->getOperands(), rule.operands);
  add(op->getResults(), rule.results);
  double devices = 1, flops = 0;
  for (const Axes &axes : strategy.factors)
    devices *= double(mesh.product(axes));
  if (auto counted = dyn_cast<xf::CostOpInterface>(op))
    flops = counted.getCost().flops;
  double compute = flops / devices / rateOf(op);
  return nanoseconds(std::max(compute, times.memory(bytes)));
}

double StrategyTimes::uncachedReshard(RankedTensorType type,
                                      const Sharding &from,
                                      const Sharding &to) const {
  auto steps = planReshard(mesh, type, from, to);
  if (failed(steps))
    return 0; // Not met: no operand is wanted as sums.
  Sharding now = from;
  double seconds = 0;
  for (const ReshardStep &step : *steps) {
    RankGroup group = groupOf(step.axes);
    Sharding next = afterStep(now, step);
    auto before = double(localBytes(mesh, type, now));
    auto after = double(localBytes(mesh, type, next));
    switch (step.kind) {
    case ReshardStep::Kind::AllReduce:
      seconds += times.allReduce(before, group);
      break;
    case ReshardStep::Kind::ReduceScatter:
      seconds += times.allGather(before, group);
      break;
    case ReshardStep::Kind::AllGather:
      seconds += times.allGather(after, group);
      break;
    case ReshardStep::Kind::AllToAll:
      seconds += times.dispatch(before, 1, group);
      break;
    case ReshardStep::Kind::Slice:
      break;
    }
    now = next;
  }
  return seconds;
}

int64_t StrategyTimes::reshard(RankedTensorType type, const Sharding &from,
                               const Sharding &to) {
  Key key(type, from.toAttr(mesh.symbol()), to.toAttr(mesh.symbol()));
  auto [entry, isNew] = known.try_emplace(key, 0);
  if (isNew)
    entry->second = nanoseconds(uncachedReshard(type, from, to));
  return entry->second;
}
