//===- RegionEvaluator.cpp - A fused region, slowly -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/targets/cpu/RegionEvaluator.h"

#include "kernels/reference/Philox.h"
#include "kernels/reference/TensorShard.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cmath>
#include <functional>
#include <map>

using namespace mlir;

namespace hocket::test {
namespace {

using Function = std::function<double(const std::vector<double> &)>;

const std::map<std::string, Function> &functions() {
  using V = const std::vector<double> &;
  static const std::map<std::string, Function> table = {
      {"arith.addf", [](V x) { return x[0] + x[1]; }},
      {"arith.subf", [](V x) { return x[0] - x[1]; }},
      {"arith.mulf", [](V x) { return x[0] * x[1]; }},
      {"arith.divf", [](V x) { return x[0] / x[1]; }},
      {"arith.negf", [](V x) { return -x[0]; }},
      {"arith.maximumf", [](V x) { return std::max(x[0], x[1]); }},
      {"arith.minimumf", [](V x) { return std::min(x[0], x[1]); }},
      {"arith.maxnumf", [](V x) { return std::fmax(x[0], x[1]); }},
      {"arith.minnumf", [](V x) { return std::fmin(x[0], x[1]); }},
      {"arith.select", [](V x) { return x[0] != 0 ? x[1] : x[2]; }},
      {"arith.extf", [](V x) { return x[0]; }},
      {"arith.sitofp", [](V x) { return x[0]; }},
      {"arith.addi", [](V x) { return x[0] + x[1]; }},
      {"math.absf", [](V x) { return std::fabs(x[0]); }},
      {"math.copysign", [](V x) { return std::copysign(x[0], x[1]); }},
      {"math.floor", [](V x) { return std::floor(x[0]); }},
      {"math.ceil", [](V x) { return std::ceil(x[0]); }},
      {"math.roundeven", [](V x) { return std::nearbyint(x[0]); }},
      {"math.trunc", [](V x) { return std::trunc(x[0]); }},
      {"math.fma", [](V x) { return x[0] * x[1] + x[2]; }},
      {"math.sqrt", [](V x) { return std::sqrt(x[0]); }},
      {"math.rsqrt", [](V x) { return 1 / std::sqrt(x[0]); }},
      {"math.exp", [](V x) { return std::exp(x[0]); }},
      {"math.exp2", [](V x) { return std::exp2(x[0]); }},
      {"math.expm1", [](V x) { return std::expm1(x[0]); }},
      {"math.log", [](V x) { return std::log(x[0]); }},
      {"math.log2", [](V x) { return std::log2(x[0]); }},
      {"math.log1p", [](V x) { return std::log1p(x[0]); }},
      {"math.tanh", [](V x) { return std::tanh(x[0]); }},
      {"math.erf", [](V x) { return std::erf(x[0]); }},
      {"math.sin", [](V x) { return std::sin(x[0]); }},
      {"math.cos", [](V x) { return std::cos(x[0]); }},
      {"math.powf", [](V x) { return std::pow(x[0], x[1]); }},
  };
  return table;
}

/// "bf16", "f8E5M2", as they are written.
std::string nameOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

class Evaluator {
public:
  Evaluator(kern::KernelOp kernel, const std::vector<Values> &inputs,
            const LaunchScalars &scalars)
      : kernel(kernel), inputs(inputs), scalars(scalars),
        rows(kernel.getRows()), cols(kernel.getCols()) {}

  std::vector<Values> run() {
    std::vector<Values> results(kernel.getResultTypes().size());
    for (size_t i = 0; i < results.size(); ++i)
      results[i].assign(
          cast<RankedTensorType>(
              cast<TypeAttr>(kernel.getResultTypes()[i]).getValue())
              .getNumElements(),
          0.0);
    for (int64_t row = 0; row < rows; ++row)
      runRow(row, results);
    return results;
  }

private:
  double inputAt(size_t i, int64_t row, int64_t col) {
    const Values &values = inputs[i];
    int64_t count = values.size();
    switch (cast<kern::AccessAttr>(kernel.getInputAccesses()[i]).getValue()) {
    case kern::Access::Full:
      return values[row * cols + col];
    case kern::Access::Tiled:
      return values[row % (count / cols) * cols + col];
    case kern::Access::Row:
      return values[row];
    case kern::Access::Col:
      return values[col];
    case kern::Access::Scalar:
      return values[0];
    }
    return NAN;
  }

  /// How many elements the op counts over.
  int64_t elementsOf(kern::KeepScaleOp op) const {
    kern::ShardAttr shard = op.getShardAttr();
    if (!shard)
      return rows * cols;
    int64_t elements = 1;
    for (int64_t size : shard.getWhole())
      elements *= size;
    return elements;
  }

  int64_t wholeElement(kern::KeepScaleOp op, int64_t element) {
    kern::ShardAttr shard = op.getShardAttr();
    if (!shard)
      return element;
    std::vector<int64_t> starts;
    for (Value start : op.getAt())
      starts.push_back(static_cast<int64_t>(at(start)[0]));
    return kernels::wholeElement({shard.getShape(), shard.getWhole(),
                                  shard.getDims(), shard.getParts(),
                                  shard.getRounds()},
                                 starts, element);
  }

  double keepScale(kern::KeepScaleOp op, int64_t row, int64_t col) {
    uint32_t instance =
        op.getInstance() ? static_cast<uint32_t>(at(op.getInstance())[0]) : 0;
    kernels::RandomStream stream;
    stream.seed = scalars.seed;
    stream.step = static_cast<uint32_t>(scalars.step);
    stream.stream = op.getStream() * 65536u + instance;
    uint64_t element = scalars.microbatch * elementsOf(op) +
                       wholeElement(op, row * cols + col);
    double p = op.getRate().convertToDouble();
    uint32_t word = kernels::randomWord(stream, element);
    if (op.getJitter())
      return kernels::jitterOf(word, p);
    return word >= kernels::dropoutThreshold(p)
               ? static_cast<float>(1 / (1 - p))
               : 0;
  }

  double point(Operation &op, int64_t row, int64_t col) {
    if (auto keep = dyn_cast<kern::KeepScaleOp>(op))
      return keepScale(keep, row, col);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
        return number.getValueAsDouble();
      return cast<IntegerAttr>(constant.getValue()).getInt();
    }
    std::vector<double> operands;
    for (Value operand : op.getOperands())
      operands.push_back(at(operand)[col]);
    if (isa<arith::TruncFOp>(op))
      return rounded(operands[0], nameOf(op.getResult(0).getType()));
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      return arith::applyCmpPredicate(
          compare.getPredicate(), APFloat(operands[0]), APFloat(operands[1]));
    return functions().at(op.getName().getStringRef().str())(operands);
  }

  Values reduce(kern::ReduceOp op) {
    const Values &values = at(op.getValue());
    double sum = 0, greatest = -INFINITY;
    for (double value : values)
      sum += value, greatest = std::max(greatest, value);
    return Values(cols, op.getKind() == kern::Reduction::Add ? sum : greatest);
  }

  void runRow(int64_t row, std::vector<Values> &results) {
    Block &block = kernel.getBody().front();
    for (BlockArgument argument : block.getArguments()) {
      size_t i = argument.getArgNumber();
      Values &values = table[argument.getAsOpaquePointer()];
      values.assign(cols, 0);
      for (int64_t col = 0; col < cols; ++col)
        values[col] = i < inputs.size() ? inputAt(i, row, col)
                                        : scalars.instances[i - inputs.size()];
    }
    for (Operation &op : block.without_terminator()) {
      Values values(cols);
      if (auto reduction = dyn_cast<kern::ReduceOp>(op))
        values = reduce(reduction);
      else
        for (int64_t col = 0; col < cols; ++col)
          values[col] = point(op, row, col);
      table[op.getResult(0).getAsOpaquePointer()] = std::move(values);
    }
    for (auto [i, value] :
         llvm::enumerate(block.getTerminator()->getOperands()))
      store(i, row, at(value), results[i]);
  }

  void store(size_t i, int64_t row, const Values &values, Values &result) {
    auto access = cast<kern::AccessAttr>(kernel.getResultAccesses()[i]);
    if (access.getValue() == kern::Access::Full)
      std::copy(values.begin(), values.end(), result.begin() + row * cols);
    else if (access.getValue() != kern::Access::Col)
      result[row] = values[0];
    else
      for (int64_t col = 0; col < cols; ++col)
        result[col] += values[col];
  }

  const Values &at(Value value) { return table.at(value.getAsOpaquePointer()); }

  kern::KernelOp kernel;
  const std::vector<Values> &inputs;
  const LaunchScalars &scalars;
  int64_t rows, cols;
  std::map<const void *, Values> table;
};

} // namespace

std::vector<Values> evaluateRegion(kern::KernelOp kernel,
                                   const std::vector<Values> &inputs,
                                   const LaunchScalars &scalars) {
  return Evaluator(kernel, inputs, scalars).run();
}

} // namespace hocket::test
