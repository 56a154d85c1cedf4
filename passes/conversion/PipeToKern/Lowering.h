//===- Lowering.h - One function for each op of the model -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table of `convert-pipe-to-kern`: for each op of the model, a function
/// that builds what replaces it at the builder's insertion point and returns
/// one value a result.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_PIPETOKERN_LOWERING_H
#define HOCKET_PASSES_CONVERSION_PIPETOKERN_LOWERING_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/kern/IR/Kern.h"
#include "dialects/pipe/IR/Pipe.h"
#include "dialects/xf/IR/Xf.h"

#include "mlir/IR/PatternMatch.h"

namespace hocket::kern {

using Values = llvm::SmallVector<mlir::Value, 4>;

// Elementwise.cpp: fused regions over one element.
Values lower(mlir::OpBuilder &builder, xf::ActivationOp op);
Values lower(mlir::OpBuilder &builder, xf::ActivationGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::SoftcapOp op);
Values lower(mlir::OpBuilder &builder, xf::SoftcapGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::GatedOp op);
Values lower(mlir::OpBuilder &builder, xf::GatedGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::DropoutOp op);
Values lower(mlir::OpBuilder &builder, xf::AddOp op);
Values lower(mlir::OpBuilder &builder, xf::MultiplyOp op);
Values lower(mlir::OpBuilder &builder, xf::CastOp op);
Values lower(mlir::OpBuilder &builder, xf::ConstantOp op);
Values lower(mlir::OpBuilder &builder, xf::QuantizeScaleOp op);
Values lower(mlir::OpBuilder &builder, xf::QuantizeOp op);
Values lower(mlir::OpBuilder &builder, xf::QuantizeBlocksOp op);
Values lower(mlir::OpBuilder &builder, xf::DequantizeBlocksOp op);

// Reductions.cpp: fused regions over a row or a column.
Values lower(mlir::OpBuilder &builder, xf::GatherChoicesOp op);
Values lower(mlir::OpBuilder &builder, xf::GatherChoicesGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::SplitChunksOp op);
Values lower(mlir::OpBuilder &builder, xf::JoinChunksOp op);
Values lower(mlir::OpBuilder &builder, xf::JoinHeadsOp op);
Values lower(mlir::OpBuilder &builder, xf::PartHeadsOp op);
Values lower(mlir::OpBuilder &builder, xf::SumHeadsOp op);
Values lower(mlir::OpBuilder &builder, xf::PlaceRowsOp op);
Values lower(mlir::OpBuilder &builder, xf::PlaceRowsGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::PlacedRowsGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::RowGateOp op);
Values lower(mlir::OpBuilder &builder, xf::RowGateGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::NormOp op);
Values lower(mlir::OpBuilder &builder, xf::NormGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::SumLeadingOp op);
Values lower(mlir::OpBuilder &builder, xf::AmaxOp op);

// Optimizer.cpp: the update of parameters and of the step's scalars.
Values lower(mlir::OpBuilder &builder, xf::AdamWOp op);
Values lower(mlir::OpBuilder &builder, xf::SgdOp op);
Values lower(mlir::OpBuilder &builder, xf::GradientScaleOp op);
Values lower(mlir::OpBuilder &builder, xf::BiasCorrectionOp op);
Values lower(mlir::OpBuilder &builder, xf::AdvanceStepOp op);
Values lower(mlir::OpBuilder &builder, xf::LossScaleUpdateOp op);

// Gemms.cpp: GEMMs.
Values lower(mlir::OpBuilder &builder, xf::LinearOp op);
Values lower(mlir::OpBuilder &builder, xf::LinearInputGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::LinearWeightGradientOp op);

// LibraryCalls.cpp: hand-written kernels, as in kernels/library/Library.h.
Values lower(mlir::OpBuilder &builder, xf::EmbeddingOp op);
Values lower(mlir::OpBuilder &builder, xf::EmbeddingGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::RopeTableOp op);
Values lower(mlir::OpBuilder &builder, xf::PositionsOp op);
Values lower(mlir::OpBuilder &builder, xf::RelativeBucketsOp op);
Values lower(mlir::OpBuilder &builder, xf::RopeTableAtOp op);
Values lower(mlir::OpBuilder &builder, xf::RopeOp op);
Values lower(mlir::OpBuilder &builder, xf::CachedAttentionOp op);
Values lower(mlir::OpBuilder &builder, xf::CachedConvOp op);
Values lower(mlir::OpBuilder &builder, xf::CachedScanOp op);
Values lower(mlir::OpBuilder &builder, xf::MergeAttentionOp op);
Values lower(mlir::OpBuilder &builder, xf::AttentionOp op);
Values lower(mlir::OpBuilder &builder, xf::AttentionGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::CrossEntropyOp op);
Values lower(mlir::OpBuilder &builder, xf::CrossEntropyGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::CrossEntropyRowsOp op);
Values lower(mlir::OpBuilder &builder, xf::LogSumExpOp op);
Values lower(mlir::OpBuilder &builder, xf::CountLabelsOp op);
Values lower(mlir::OpBuilder &builder, xf::MeanLossOp op);
Values lower(mlir::OpBuilder &builder, xf::GlobalNormOp op);
Values lower(mlir::OpBuilder &builder, xf::PadRowsOp op);

// Experts.cpp: hand-written kernels of mixtures of experts.
Values lower(mlir::OpBuilder &builder, xf::RouterOp op);
Values lower(mlir::OpBuilder &builder, xf::SinkhornOp op);
Values lower(mlir::OpBuilder &builder, xf::RouterGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::RouterProbabilitiesOp op);
Values lower(mlir::OpBuilder &builder, xf::RouterProbabilitiesGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::RouterZLossOp op);
Values lower(mlir::OpBuilder &builder, xf::RouterZLossGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::ExpertCountsOp op);
Values lower(mlir::OpBuilder &builder, xf::BalanceBiasOp op);
Values lower(mlir::OpBuilder &builder, xf::ExpertOrderOp op);
Values lower(mlir::OpBuilder &builder, xf::ExpertSegmentsOp op);
Values lower(mlir::OpBuilder &builder, xf::DispatchOp op);
Values lower(mlir::OpBuilder &builder, xf::CombineOp op);
Values lower(mlir::OpBuilder &builder, xf::CombineWeightGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::GroupedLinearOp op);
Values lower(mlir::OpBuilder &builder, xf::GroupedLinearInputGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::GroupedLinearWeightGradientOp op);

// StateSpace.cpp: hand-written kernels of state-space layers.
Values lower(mlir::OpBuilder &builder, xf::CausalConvOp op);
Values lower(mlir::OpBuilder &builder, xf::CausalConvGradientOp op);
Values lower(mlir::OpBuilder &builder, xf::StateScanOp op);
Values lower(mlir::OpBuilder &builder, xf::StateScanGradientOp op);

// Collectives.cpp: what devices exchange.
Values lower(mlir::OpBuilder &builder, dist::AllReduceOp op);
Values lower(mlir::OpBuilder &builder, dist::AllGatherOp op);
Values lower(mlir::OpBuilder &builder, dist::ReduceScatterOp op);
Values lower(mlir::OpBuilder &builder, dist::AllToAllOp op);
Values lower(mlir::OpBuilder &builder, dist::ShiftOp op);
Values lower(mlir::OpBuilder &builder, dist::ExchangeRowsOp op);
Values lower(mlir::OpBuilder &builder, dist::ReturnRowsOp op);
Values lower(mlir::OpBuilder &builder, dist::SliceOp op);
Values lower(mlir::OpBuilder &builder, dist::OffsetOp op);

// State.cpp: views, variables, the host and the step.
Values lower(mlir::OpBuilder &builder, xf::ReshapeOp op);
Values lower(mlir::OpBuilder &builder, xf::PrefixOp op);
Values lower(mlir::OpBuilder &builder, xf::VariableOp op);
Values lower(mlir::OpBuilder &builder, xf::ReadOp op);
Values lower(mlir::OpBuilder &builder, xf::WriteOp op);
Values lower(mlir::OpBuilder &builder, xf::AccumulateOp op);
Values lower(mlir::OpBuilder &builder, xf::InputOp op);
Values lower(mlir::OpBuilder &builder, xf::OutputOp op);
Values lower(mlir::OpBuilder &builder, xf::TrainingOp op);

// PipelineCollectives.cpp: what pipeline ranks exchange.
Values lower(mlir::OpBuilder &builder, pipe::AllReduceOp op);
Values lower(mlir::OpBuilder &builder, pipe::AllGatherOp op);

// PipelineRows.cpp: rows that are computed by themselves.
Values lower(mlir::OpBuilder &builder, pipe::SliceRowsOp op);
Values lower(mlir::OpBuilder &builder, pipe::InsertRowsOp op);

/// Builds a schedule of functions from one of fragments, which must still be
/// there. No match, with its reason, where an action names no fragment.
/// Replaces a fragment's function by a `kern.fragment`; fails where nothing
/// says where one of its arguments comes from.
mlir::LogicalResult lowerFragment(mlir::RewriterBase &builder,
                                  pipe::FragmentOp op);
mlir::LogicalResult lowerSchedule(mlir::RewriterBase &builder,
                                  pipe::ScheduleOp op);

/// The same nonlinearity at the next level.
Epilogue epilogueOf(xf::ActivationKind kind);

/// `value` in another element type (itself if it already is): a fused region
/// that copies.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Type elementType);

} // namespace hocket::kern

#endif // HOCKET_PASSES_CONVERSION_PIPETOKERN_LOWERING_H
