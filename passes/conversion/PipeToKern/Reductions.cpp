//===- Reductions.cpp - Fused regions over a row or a column --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/Lowering.h"
#include "passes/kern/RegionBuilder.h"

using namespace mlir;

namespace hocket::kern {

namespace {
/// What a normalisation knows of a row: `mean` is absent in RMS.
struct RowStatistics {
  Scalar mean, inverseDeviation;
  bool centred;

  Scalar normalised(Scalar x) const {
    return (centred ? x - mean : x) * inverseDeviation;
  }
};
} // namespace

/// Statistics of the row of `x`, of `cols` elements.
static RowStatistics statisticsOf(Scalar x, xf::NormKind kind, double epsilon,
                                  int64_t cols) {
  double each = 1.0 / static_cast<double>(cols);
  RowStatistics row{x, x, kind == xf::NormKind::Layer};
  if (row.centred)
    row.mean = each * rowSum(x);
  Scalar deviation = row.centred ? x - row.mean : x;
  Scalar variance = each * rowSum(deviation * deviation);
  row.inverseDeviation = 1.0 / sqrt(variance + epsilon);
  return row;
}

static std::string labelOf(xf::NormKind kind, StringRef end = "") {
  return (xf::stringifyNormKind(kind) + "_norm" + end).str();
}

/// What a norm scales by.
template <typename OpT> static Scalar scaleOf(OpT op, Scalar weight) {
  return op.getZeroCentered() ? 1.0 + weight : weight;
}

Values lower(OpBuilder &builder, xf::NormOp op) {
  Space space = spaceOf(op.getInput().getType());
  std::string label = labelOf(op.getKind());
  RegionShape shape{
      label,
      space,
      {{op.getInput(), Access::Full}, {op.getWeight(), Access::Col}},
      {{op.getResult().getType(), Access::Full}},
      {}};
  if (op.getBias())
    shape.operands.push_back({op.getBias(), Access::Col});
  double epsilon = op.getEpsilon().convertToDouble();
  auto rows = buildRows(builder, op.getLoc(), shape,
                        [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                          auto row = statisticsOf(in[0], op.getKind(), epsilon,
                                                  space.cols);
                          Scalar y = row.normalised(in[0]) * scaleOf(op, in[1]);
                          return {op.getBias() ? y + in[2] : y};
                        });
  return Values(rows.getOutputs());
}

/// The gradient by the input, and the row's statistics for the columns: with
/// `n` the normalised input, `g = grad * scale` and means over the row,
/// `dx = (g - mean(g) - n mean(g n)) / deviation`, where RMS lacks `mean(g)`.
static RowsOp buildInputGradient(OpBuilder &builder, xf::NormGradientOp op,
                                 Space space, StringRef label) {
  Type statistic = RankedTensorType::get({space.rows}, builder.getF32Type());
  RegionShape shape{
      label,
      space,
      {{op.getGrad(), Access::Full},
       {op.getInput(), Access::Full},
       {op.getWeight(), Access::Col}},
      {{op.getInputGrad().getType(), Access::Full}, {statistic, Access::Row}},
      {}};
  if (op.getKind() == xf::NormKind::Layer)
    shape.results.push_back({statistic, Access::Row});
  double epsilon = op.getEpsilon().convertToDouble();
  double each = 1.0 / static_cast<double>(space.cols);
  return buildRows(
      builder, op.getLoc(), shape,
      [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
        auto row = statisticsOf(in[1], op.getKind(), epsilon, space.cols);
        Scalar n = row.normalised(in[1]), g = in[0] * scaleOf(op, in[2]);
        Scalar d = g - n * (each * rowSum(g * n));
        if (!row.centred)
          return {row.inverseDeviation * d, row.inverseDeviation};
        d = d - each * rowSum(g);
        return {row.inverseDeviation * d, row.inverseDeviation, row.mean};
      });
}

Values lower(OpBuilder &builder, xf::NormGradientOp op) {
  Space space = spaceOf(op.getInput().getType());
  RowsOp rows = buildInputGradient(builder, op, space,
                                   labelOf(op.getKind(), "_gradient"));
  std::string label = labelOf(op.getKind(), "_weight_gradient");
  RegionShape shape{label,
                    space,
                    {{op.getGrad(), Access::Full},
                     {op.getInput(), Access::Full},
                     {rows.getOutputs()[1], Access::Row}},
                    {{op.getWeightGrad().getType(), Access::Col}},
                    {}};
  bool centred = rows.getOutputs().size() == 3;
  if (centred)
    shape.operands.push_back({rows.getOutputs()[2], Access::Row});
  if (op.getBiasGrad())
    shape.results.push_back({op.getBiasGrad().getType(), Access::Col});
  auto columns = buildColumns(builder, op.getLoc(), shape,
                              [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                                Scalar n =
                                    (centred ? in[1] - in[3] : in[1]) * in[2];
                                SmallVector<Scalar> results{in[0] * n};
                                if (op.getBiasGrad())
                                  results.push_back(in[0]);
                                return results;
                              });
  Values results{rows.getOutputs().front()};
  llvm::append_range(results, columns.getOutputs());
  return results;
}

/// Between 0 and 1, of a row's number.
static Scalar sigmoid(Scalar x) { return 1.0 / (1.0 + exp(-x)); }

Values lower(OpBuilder &builder, xf::RowGateOp op) {
  RegionShape shape{
      "row_gate",
      spaceOf(op.getInput().getType()),
      {{op.getInput(), Access::Full}, {op.getGate(), Access::Row}},
      {{op.getResult().getType(), Access::Full}},
      {}};
  auto rows = buildRows(builder, op.getLoc(), shape,
                        [](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                          return {in[0] * sigmoid(in[1])};
                        });
  return Values(rows.getOutputs());
}

Values lower(OpBuilder &builder, xf::RowGateGradientOp op) {
  RegionShape shape{"row_gate_gradient",
                    spaceOf(op.getInput().getType()),
                    {{op.getGrad(), Access::Full},
                     {op.getInput(), Access::Full},
                     {op.getGate(), Access::Row}},
                    {{op.getInputGrad().getType(), Access::Full},
                     {op.getGateGrad().getType(), Access::Row}},
                    {}};
  auto rows = buildRows(builder, op.getLoc(), shape,
                        [](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                          Scalar open = sigmoid(in[2]);
                          return {in[0] * open,
                                  open * (1.0 - open) * rowSum(in[0] * in[1])};
                        });
  return Values(rows.getOutputs());
}

Values lower(OpBuilder &builder, xf::SumLeadingOp op) {
  auto from = cast<RankedTensorType>(op.getInput().getType());
  auto to = cast<RankedTensorType>(op.getResult().getType());
  int64_t cols = to.getNumElements();
  Space space{cols == 0 ? 0 : from.getNumElements() / cols, cols};
  RegionShape shape{"sum_leading",
                    space,
                    {{op.getInput(), Access::Full}},
                    {{to, Access::Col}},
                    {}};
  auto columns = buildColumns(
      builder, op.getLoc(), shape,
      [](ArrayRef<Scalar> in) -> SmallVector<Scalar> { return {in[0]}; });
  return Values(columns.getOutputs());
}

/// The greatest of all elements of `tensor`, after `code`.
static Value greatestOf(OpBuilder &builder, Location loc, Value tensor,
                        ScalarFn code) {
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  Space space = spaceOf(tensor.getType());
  bool one = space.rows == 1;
  auto rows =
      one ? scalar : RankedTensorType::get({space.rows}, builder.getF32Type());
  RegionShape shape{"amax",
                    space,
                    {{tensor, Access::Full}},
                    {{rows, one ? Access::Scalar : Access::Row}},
                    {}};
  return buildRows(builder, loc, shape, code).getOutputs().front();
}

/// First by row, where it joins what computes the rows, then over all rows.
/// What another region computes is rounded as if it had been in memory, so that
/// scales do not depend on what is fused.
Values lower(OpBuilder &builder, xf::AmaxOp op) {
  Type element =
      cast<RankedTensorType>(op.getInput().getType()).getElementType();
  Value greatest =
      greatestOf(builder, op.getLoc(), op.getInput(),
                 [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                   return {rowGreatest(abs(rounded(in[0], element)))};
                 });
  if (cast<RankedTensorType>(greatest.getType()).getRank() == 0)
    return {greatest};
  return {greatestOf(builder, op.getLoc(), greatest,
                     [](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
                       return {rowGreatest(in[0])};
                     })};
}

} // namespace hocket::kern
