//===- LibraryCalls.cpp - Hand-written kernels ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers, integers and floats are in the order of kernels/library/Library.h.
/// Mixtures of experts are in Experts.cpp, copies of rows and parts of heads in
/// Copies.cpp.
///
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/ElementTypes.h"
#include "kernels/reference/Attention.h"
#include "passes/conversion/PipeToKern/LibraryCall.h"
#include "passes/conversion/PipeToKern/Lowering.h"
#include "passes/kern/RegionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <utility>

using namespace mlir;

namespace hocket::kern {

int64_t dtypeOf(Type tensor) {
  return kernelTypeNumber(cast<RankedTensorType>(tensor).getElementType());
}

int64_t elementsOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
}

Values buildCall(OpBuilder &builder, Operation *op, const Call &call) {
  DenseI64ArrayAttr inPlace;
  if (!call.inPlace.empty())
    inPlace = builder.getDenseI64ArrayAttr(call.inPlace);
  auto library = builder.create<LibraryOp>(
      op->getLoc(), call.results, call.op, call.operands, call.instance,
      call.scalars, call.integers, call.floats, call.randomElements.has_value(),
      call.resultsFirst, call.stream, call.randomElements.value_or(0),
      call.workspaces, inPlace, call.op);
  return Values(library.getOutputs().drop_back(call.workspaces));
}

Type f32Of(Type tensor) {
  return cast<RankedTensorType>(tensor).clone(
      Float32Type::get(tensor.getContext()));
}

Value f32Value(OpBuilder &builder, Location loc, Value value) {
  return castTo(builder, loc, value, builder.getF32Type());
}

Values buildCastCall(OpBuilder &builder, Operation *op, const Call &call) {
  Values results = buildCall(builder, op, call);
  for (auto [value, result] : llvm::zip(results, op->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    value = castTo(builder, op->getLoc(), value, type.getElementType());
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

Values lower(OpBuilder &builder, xf::EmbeddingOp op) {
  Space table = spaceOf(op.getTable().getType());
  Type result = op.getResult().getType();
  Call call{"embedding",
            {op.getIds(), op.getTable()},
            {result},
            {dtypeOf(op.getTable().getType()), dtypeOf(result),
             elementsOf(op.getIds()), table.rows, table.cols}};
  if (op.getFirstRow()) {
    call.op = "embedding_shard";
    call.scalars = {op.getFirstRow()};
  }
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::EmbeddingGradientOp op) {
  Space table = spaceOf(op.getResult().getType());
  Call call{"embedding_gradient",
            {op.getIds(), op.getGrad()},
            {f32Of(op.getResult().getType())},
            {dtypeOf(op.getGrad().getType()), elementsOf(op.getIds()),
             table.rows, table.cols}};
  if (op.getFirstRow()) {
    call.op = "embedding_gradient_shard";
    call.scalars = {op.getFirstRow()};
  }
  return buildCastCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::PadRowsOp op) {
  return buildCall(builder, op,
                   {"pad_rows",
                    {op.getInput()},
                    {op.getResult().getType()},
                    {dtypeOf(op.getInput().getType()),
                     elementsOf(op.getInput()), elementsOf(op.getResult())}});
}

//===----------------------------------------------------------------------===//
// Blocks of 8 bits
//===----------------------------------------------------------------------===//

/// The element types, then the dims and the block of a matrix, or of several:
/// dims before one whose blocks have one element are its rows, too.
static SmallVector<int64_t> blockSizes(Value from, Value to,
                                       ArrayRef<int64_t> blocks) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(from.getType()).getShape();
  size_t rank = shape.size();
  int64_t height = rank > 1 ? blocks[rank - 2] : 1;
  int64_t rows = rank > 1 ? shape[rank - 2] : 1, outer = 1;
  for (int64_t size : shape.drop_back(std::min<size_t>(2, rank)))
    (height > 1 ? outer : rows) *= size;
  return {dtypeOf(from.getType()),
          dtypeOf(to.getType()),
          outer,
          rows,
          shape.back(),
          height,
          blocks.back()};
}

Values lower(OpBuilder &builder, xf::QuantizeBlocksOp op) {
  return buildCall(builder, op,
                   {"quantize_blocks",
                    {op.getInput()},
                    SmallVector<Type>(op->getResultTypes()),
                    blockSizes(op.getInput(), op.getCodes(), op.getBlocks())});
}

Values lower(OpBuilder &builder, xf::DequantizeBlocksOp op) {
  return buildCall(builder, op,
                   {"dequantize_blocks",
                    {op.getCodes(), op.getScales()},
                    {op.getResult().getType()},
                    blockSizes(op.getCodes(), op.getResult(), op.getBlocks())});
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// `scalar`, or 0 where it is absent.
static Value orZero(OpBuilder &builder, Location loc, Value scalar) {
  if (scalar)
    return scalar;
  return builder.create<arith::ConstantIntOp>(loc, 0, 32);
}

/// The integers and the scalar that say which rows of a sequence `op` makes.
template <typename OpTy>
static void addRows(OpBuilder &builder, OpTy op, Call &call) {
  int64_t rows = cast<RankedTensorType>(op.getType()).getDimSize(0);
  int64_t whole = op.getWhole() > 0 ? op.getWhole() : rows;
  call.integers.append({whole, static_cast<int64_t>(op.getPart())});
  if (op.getRounds() > 1)
    call.integers.push_back(static_cast<int64_t>(op.getRounds()));
  call.scalars = {orZero(builder, op.getLoc(), op.getFirst())};
}

Values lower(OpBuilder &builder, xf::RopeTableOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  ArrayRef<double> frequencies = op.getInverseFrequencies();
  Call call{"rope_table",
            {},
            {f32Of(type)},
            {type.getDimSize(0), 2 * static_cast<int64_t>(frequencies.size())},
            SmallVector<double>(frequencies)};
  if (op.getFirst() || op.getPart() > 0) {
    call.op = "rope_table_shard";
    addRows(builder, op, call);
  }
  return buildCastCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::RopeTableAtOp op) {
  ArrayRef<double> frequencies = op.getInverseFrequencies();
  return buildCastCall(builder, op,
                       {"rope_table_at",
                        {op.getPositions()},
                        {f32Of(op.getResult().getType())},
                        {elementsOf(op.getPositions()),
                         2 * static_cast<int64_t>(frequencies.size())},
                        SmallVector<double>(frequencies)});
}

Values lower(OpBuilder &builder, xf::PositionsOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Call call{"positions", {}, {type}, {type.getDimSize(0)}};
  addRows(builder, op, call);
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::RelativeBucketsOp op) {
  return buildCall(builder, op,
                   {"relative_buckets",
                    {},
                    {op.getResult().getType()},
                    {static_cast<int64_t>(op.getBuckets()),
                     static_cast<int64_t>(op.getMaxDistance()),
                     op.getBothDirections() ? 1 : 0}});
}

Values lower(OpBuilder &builder, xf::RopeOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  ArrayRef<int64_t> dims = type.getShape();
  auto table = cast<RankedTensorType>(op.getTable().getType());
  int64_t batch = dims[0], sequence = dims[1];
  // Where each sequence has its own angles, all positions are one sequence's.
  if (table.getRank() == 4)
    sequence *= std::exchange(batch, 1);
  Call call{"rope",
            {op.getInput(), f32Value(builder, op.getLoc(), op.getTable())},
            {type},
            {dtypeOf(type), batch, sequence, dims[2], dims[3],
             op.getInverse() ? 1 : 0, 2 * table.getShape().take_back(2)[0]}};
  call.inPlace = {0};
  return buildCall(builder, op, call);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Makes a call of attention that of a shard, which may be the whole; the
/// stream stays last.
template <typename OpTy>
static void makeShard(OpBuilder &builder, OpTy op, Call &call) {
  call.scalars.assign(op.getPlace().begin(), op.getPlace().end());
  for (unsigned i = call.scalars.size(); i < 4; ++i)
    call.scalars.push_back(orZero(builder, op.getLoc(), Value()));
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto key = cast<RankedTensorType>(op.getKey().getType());
  int64_t heads = query.getDimSize(2);
  int64_t positions = std::max(query.getDimSize(1), key.getDimSize(1));
  if (auto whole = op.getWhole())
    heads = (*whole)[1], positions = (*whole)[2];
  SmallVector<int64_t> whole = {key.getDimSize(1), heads, positions,
                                static_cast<int64_t>(op.getPart()),
                                static_cast<int64_t>(op.getBehind())};
  if (op.getRounds() > 1)
    whole.push_back(static_cast<int64_t>(op.getRounds()));
  call.integers.insert(call.integers.end() - 1, whole.begin(), whole.end());
}

/// The last of attention's floats, left out where there is none: the softcap,
/// and whether there are slopes.
template <typename OpTy> static void addScoreFloats(Call &call, OpTy op) {
  if (!op.getSoftcap().isZero() || op.getAlibi())
    call.floats.push_back(op.getSoftcap().convertToDouble());
  if (op.getAlibi())
    call.floats.push_back(1);
}

/// Makes a call of a shard one that has a bias: with the rounds in any case,
/// and how far distances count.
template <typename OpTy> static void makeBiased(OpTy op, Call &call) {
  if (op.getRounds() == 1)
    call.integers.insert(call.integers.end() - 1, 1);
  auto bias = cast<RankedTensorType>(op.getBias().getType());
  call.integers.insert(call.integers.end() - 1, bias.getDimSize(0) / 2);
  call.resultsFirst = true;
}

/// The last operands of both: what scores get by distance, and positions.
template <typename OpTy>
static void addLastOperands(OpBuilder &builder, OpTy op, Call &call) {
  if (op.getBias())
    call.operands.push_back(f32Value(builder, op.getLoc(), op.getBias()));
  if (op.getPositions())
    call.operands.push_back(op.getPositions());
}

/// What forward and backward share: a call of `name`, or with a suffix.
/// Elements are drawn from `[B, n, S, S]`; the last integer is the stream
/// without its instance.
template <typename OpTy>
static Call attentionCall(OpBuilder &builder, StringRef name, OpTy op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto key = cast<RankedTensorType>(op.getKey().getType());
  int64_t batch = query.getDimSize(0), sequence = query.getDimSize(1),
          heads = query.getDimSize(2);
  Call call;
  call.op = name;
  call.integers = {dtypeOf(query),
                   batch,
                   sequence,
                   heads,
                   key.getDimSize(2),
                   query.getDimSize(3),
                   op.getCausal() ? 1 : 0,
                   static_cast<int64_t>(op.getWindow()),
                   static_cast<int64_t>(op.getStream()) * 65536};
  call.floats = {op.getScale().convertToDouble(),
                 op.getDropout().convertToDouble()};
  addScoreFloats(call, op);
  call.instance = op.getInstance();
  call.stream = op.getStream();
  int64_t longest = std::max(sequence, key.getDimSize(1));
  call.randomElements = batch * heads * longest * longest;
  if (auto whole = op.getWhole())
    call.randomElements = (*whole)[0] * (*whole)[1] * (*whole)[2] * (*whole)[2];
  if (op.getDropout().isZero())
    call.randomElements = 0;
  if (op.getBias()) {
    makeShard(builder, op, call);
    makeBiased(op, call);
    call.op = builder.getStringAttr(name + "_biased");
  } else if (op.getWhole() || op.getPositions() ||
             key.getDimSize(1) != sequence) {
    makeShard(builder, op, call);
    call.op = builder.getStringAttr(
        name + (op.getPositions() ? "_documents" : "_shard"));
  }
  return call;
}

Values lower(OpBuilder &builder, xf::AttentionOp op) {
  Call call = attentionCall(builder, "attention_forward", op);
  call.operands = {op.getQuery(), op.getKey(), op.getValue()};
  addLastOperands(builder, op, call);
  call.results = {op.getResult().getType(), f32Of(op.getLse().getType())};
  return buildCastCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::AttentionGradientOp op) {
  Call call = attentionCall(builder, "attention_backward", op);
  call.operands = {op.getQuery(),
                   op.getKey(),
                   op.getValue(),
                   op.getOutput(),
                   f32Value(builder, op.getLoc(), op.getLse()),
                   op.getGrad()};
  addLastOperands(builder, op, call);
  call.results.assign(op->result_type_begin(), op->result_type_end());
  call.results.push_back(f32Of(op.getLse().getType()));
  call.workspaces = 1;
  if (!op.getBias())
    return buildCall(builder, op, call);
  ArrayRef<int64_t> query =
      cast<RankedTensorType>(op.getQuery().getType()).getShape();
  auto bias = cast<RankedTensorType>(op.getBias().getType());
  int64_t parts = kernels::attentionBiasParts(
      query[1], static_cast<int64_t>(op.getPart()), query[3]);
  call.results[3] = f32Of(bias);
  call.results.push_back(RankedTensorType::get(
      {query[0], parts, query[2], bias.getDimSize(0)}, builder.getF32Type()));
  call.workspaces = 2;
  return buildCastCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::CachedAttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto keys = cast<RankedTensorType>(op.getKeys().getType());
  auto table = cast<RankedTensorType>(op.getTable().getType());
  Call call{op.getFirstHead() ? "cached_attention_shard" : "cached_attention",
            Values(op.getOperands().take_front(8)),
            SmallVector<Type>(op->getResultTypes()),
            {dtypeOf(query), query.getDimSize(0), query.getDimSize(2),
             keys.getDimSize(2), query.getDimSize(3),
             static_cast<int64_t>(op.getWindow()), table.getDimSize(0),
             table.getDimSize(1), keys.getDimSize(0)},
            {op.getScale().convertToDouble()}};
  addScoreFloats(call, op);
  if (op.getFirstHead()) {
    call.integers.push_back(static_cast<int64_t>(op.getWholeHeads()));
    call.scalars.push_back(op.getFirstHead());
  }
  if (op.getBias()) {
    auto bias = cast<RankedTensorType>(op.getBias().getType());
    call.op = builder.getStringAttr("cached_attention_biased");
    call.operands.push_back(f32Value(builder, op.getLoc(), op.getBias()));
    call.integers.append({query.getDimSize(2), bias.getDimSize(0) / 2});
  }
  call.inPlace = {-1, 6, 7};
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::MergeAttentionOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Call call{"merge_attention",
            Values(op.getOperands()),
            {op.getResult().getType(), op.getResultLse().getType()},
            SmallVector<int64_t>(type.getShape())};
  call.inPlace = {0, 1};
  return buildCall(builder, op, call);
}

//===----------------------------------------------------------------------===//
// Loss and norm
//===----------------------------------------------------------------------===//

/// Makes the call of a gradient that of a shard of the logits.
static void makeShard(OpBuilder &builder, xf::CrossEntropyGradientOp op,
                      Call &call) {
  Location loc = op.getLoc();
  Value count = op.getCount();
  if (!count) {
    auto scalar = RankedTensorType::get({}, builder.getF32Type());
    count = buildCall(builder, op,
                      {"count_labels",
                       {op.getLabels()},
                       {scalar},
                       {elementsOf(op.getLabels())}})[0];
  }
  call.op = "cross_entropy_backward_shard";
  call.operands.push_back(f32Value(builder, loc, count));
  call.scalars = {orZero(builder, loc, op.getFirstColumn())};
}

/// By rows, where somebody wants to know of each, or says of how many labels
/// the mean is.
static Values lossByRows(OpBuilder &builder, xf::CrossEntropyOp op) {
  Space logits = spaceOf(op.getLogits().getType());
  Type row = f32Of(op.getLse().getType());
  Type scalar = f32Of(op.getLoss().getType());
  int64_t labels = elementsOf(op.getLabels());
  Call call{"cross_entropy_rows",
            {op.getLogits(), op.getLabels()},
            {row, row},
            {dtypeOf(op.getLogits().getType()), logits.rows, logits.cols,
             static_cast<int64_t>(op.getValidVocab()), /*parts=*/1}};
  call.scalars = {orZero(builder, op.getLoc(), Value())};
  Values rows = buildCall(builder, op, call);
  Value count =
      op.getCount()
          ? f32Value(builder, op.getLoc(), op.getCount())
          : buildCall(
                builder, op,
                {"count_labels", {op.getLabels()}, {scalar}, {labels}})[0];
  Value loss = buildCall(builder, op,
                         {"mean_loss",
                          {rows[0], rows[1], op.getLabels(), count},
                          {scalar},
                          {labels}})[0];
  Values results{loss, rows[0], rows[1]};
  results.resize(op->getNumResults());
  for (auto [value, result] : llvm::zip_equal(results, op.getResults()))
    value = castTo(builder, op.getLoc(), value,
                   getElementTypeOrSelf(result.getType()));
  return results;
}

Values lower(OpBuilder &builder, xf::CrossEntropyOp op) {
  if (op.getPicked() || op.getCount())
    return lossByRows(builder, op);
  Space logits = spaceOf(op.getLogits().getType());
  return buildCastCall(
      builder, op,
      {"cross_entropy_forward",
       {op.getLogits(), op.getLabels()},
       {f32Of(op.getLoss().getType()), f32Of(op.getLse().getType())},
       {dtypeOf(op.getLogits().getType()), logits.rows, logits.cols,
        static_cast<int64_t>(op.getValidVocab())}});
}

Values lower(OpBuilder &builder, xf::CrossEntropyGradientOp op) {
  Space logits = spaceOf(op.getLogits().getType());
  Location loc = op.getLoc();
  Call call{"cross_entropy_backward",
            {op.getLogits(), op.getLabels(),
             f32Value(builder, loc, op.getLse()),
             f32Value(builder, loc, op.getLossGrad())},
            {op.getLogits().getType()},
            {dtypeOf(op.getLogits().getType()), logits.rows, logits.cols,
             static_cast<int64_t>(op.getValidVocab())}};
  call.inPlace = {0};
  if (op.getCount() || op.getFirstColumn())
    makeShard(builder, op, call);
  return buildCastCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::CrossEntropyRowsOp op) {
  Space logits = spaceOf(op.getLogits().getType());
  auto lse = cast<RankedTensorType>(op.getLse().getType());
  Call call{"cross_entropy_rows",
            {op.getLogits(), op.getLabels()},
            {f32Of(lse), f32Of(op.getPicked().getType())},
            {dtypeOf(op.getLogits().getType()), logits.rows, logits.cols,
             static_cast<int64_t>(op.getValidVocab()), lse.getShape().back()}};
  call.scalars = {orZero(builder, op.getLoc(), op.getFirstColumn())};
  return buildCastCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::LogSumExpOp op) {
  Space input = spaceOf(op.getInput().getType());
  return buildCastCall(builder, op,
                       {"log_sum_exp",
                        {f32Value(builder, op.getLoc(), op.getInput())},
                        {f32Of(op.getResult().getType())},
                        {input.rows, input.cols}});
}

Values lower(OpBuilder &builder, xf::CountLabelsOp op) {
  return buildCastCall(builder, op,
                       {"count_labels",
                        {op.getLabels()},
                        {f32Of(op.getResult().getType())},
                        {elementsOf(op.getLabels())}});
}

Values lower(OpBuilder &builder, xf::MeanLossOp op) {
  Location loc = op.getLoc();
  return buildCastCall(builder, op,
                       {"mean_loss",
                        {f32Value(builder, loc, op.getLse()),
                         f32Value(builder, loc, op.getPicked()), op.getLabels(),
                         f32Value(builder, loc, op.getCount())},
                        {f32Of(op.getResult().getType())},
                        {elementsOf(op.getLabels())}});
}

Values lower(OpBuilder &builder, xf::GlobalNormOp op) {
  Call call{"global_norm",
            Values(op.getGrads()),
            {f32Of(op.getNorm().getType()), f32Of(op.getNonfinite().getType())},
            {}};
  for (Value grad : op.getGrads()) {
    call.integers.push_back(dtypeOf(grad.getType()));
    call.integers.push_back(elementsOf(grad));
  }
  call.resultsFirst = true;
  return buildCastCall(builder, op, call);
}

} // namespace hocket::kern
