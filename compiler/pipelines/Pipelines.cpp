//===- Pipelines.cpp - The order of passes --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/pipelines/Pipelines.h"

#include "passes/analysis/Passes.h"
#include "passes/conversion/Passes.h"
#include "passes/conversion/PipeToKern/PipeToKern.h"
#include "passes/dist/Passes.h"
#include "passes/exec/Passes.h"
#include "passes/kern/Passes.h"
#include "passes/pipe/Passes.h"
#include "passes/xf/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace hocket;

static constexpr llvm::StringLiteral names[] = {"xf",   "dist", "pipe",
                                                "kern", "exec", "program"};

std::optional<Level> hocket::parseLevel(StringRef name) {
  for (auto [i, known] : llvm::enumerate(names))
    if (name == known)
      return static_cast<Level>(i);
  return std::nullopt;
}

StringRef hocket::levelName(Level level) {
  return names[static_cast<size_t>(level)];
}

void hocket::addLevelVerifier(OpPassManager &manager, Level level) {
  switch (level) {
  case Level::Xf:
    return manager.addPass(xf::createVerifyXf());
  case Level::Dist:
    return manager.addPass(dist::createVerifyDist());
  case Level::Pipe:
    return manager.addPass(pipe::createVerifyPipe());
  case Level::Kern:
    return manager.addPass(createVerifyKern());
  case Level::Exec:
    return manager.addPass(exec::createVerifyExec());
  case Level::Program:
    return;
  }
}

/// What is computed: from a forward pass to the whole training step.
static void addXfPasses(OpPassManager &manager) {
  // Before autodiff, so that gradients have the types that it chooses.
  manager.addPass(xf::createXfPrecision());
  // On the types that it chose, and so that what backward keeps is 8 bits too.
  manager.addPass(xf::createXfQuantize());
  // Adapters follow the types, and stay out of 8 bits.
  manager.addPass(xf::createXfLowRank());
  // Once it is known what is frozen and which copies are 8 bits, and before
  // anything is built of the types.
  manager.addPass(xf::createXfNarrowFrozen());
  // The model's FLOPs are those of the forward pass, and of what of it is
  // trained.
  manager.addPass(createCountModelFlops());
  // Before autodiff too: validation keeps no residuals and drops nothing.
  manager.addPass(xf::createXfBuildEvaluate());
  manager.addPass(xf::createXfAutodiff());
  // Gradients exist now, so the update can be written.
  manager.addPass(xf::createXfBuildStep());
  // Casts that met, reshapes of reshapes, and values computed twice.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // The level ends in its verifier.
  addLevelVerifier(manager, Level::Xf);
}

/// Where each shard lives.
static void addDistPasses(OpPassManager &manager,
                          const PipelineOptions &options) {
  // The plan's say begins here: with how much is computed at a time.
  manager.addPass(xf::createXfSizeMicrobatch());
  ConvertXfToDistOptions placed;
  placed.leastPart = options.leastPart;
  manager.addPass(createConvertXfToDist(placed));
  // What a file says in place of the plan's seeds.
  manager.addPass(dist::createDistSeedShardings());
  // What the seeds imply for every op, then the shards of one device.
  manager.addPass(dist::createDistPropagateShardings());
  // While operands still say where they are and where they are wanted.
  manager.addPass(dist::createDistExplainShardings());
  manager.addPass(dist::createDistPartition());
  // Shards have their types now, so a ring's steps can be written out.
  manager.addPass(dist::createDistRingAttention());
  // The level ends in its verifier.
  addLevelVerifier(manager, Level::Dist);
}

void hocket::addStagePasses(OpPassManager &manager) {
  // Tensors are local, so that what crosses between fragments has its size.
  manager.addPass(createConvertDistToPipe());
  // From here on each pipeline rank has fragments of its own.
  manager.addPass(pipe::createPipeSplitStages());
  // What is kept from forward to backward changes, of which recomputation and
  // schedules ask.
  manager.addPass(pipe::createPipeChunkLoss());
}

void hocket::addFragmentPasses(OpPassManager &manager,
                               const PipelineOptions &options) {
  // Copies in flight are known with the stages; what W needs is not kept yet.
  pipe::PipeRecomputeOptions recompute;
  recompute.fixed = options.recomputeFixed;
  recompute.least = options.recomputeLeast;
  manager.addPass(pipe::createPipeRecompute(recompute));
  // After sharding, so that gradients' collectives go with them.
  manager.addPass(pipe::createPipeSplitWeightGradient());
  // Fragments are what they will be, so that what each keeps is known.
  manager.addPass(pipe::createPipeWriteSchedule());
  // The level ends in its verifier.
  addLevelVerifier(manager, Level::Pipe);
}

/// When each fragment runs.
static void addPipePasses(OpPassManager &manager,
                          const PipelineOptions &options) {
  addStagePasses(manager);
  addFragmentPasses(manager, options);
}

/// How one kernel computes.
static void addKernPasses(OpPassManager &manager,
                          const PipelineOptions &options) {
  manager.addPass(createConvertPipeToKern());
  // The conversion leaves views of views and reads that nothing uses.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (options.target == "cuda") {
    // Before anything is fused, as it writes casts and scales of its own.
    KernFitF8GemmsOptions layouts;
    layouts.layouts = options.f8Layouts;
    manager.addPass(createKernFitF8Gemms(layouts));
    // As early: what it writes for a bias is fused, too.
    if (options.invariantGemms)
      manager.addPass(createKernInvariantGemms());
    if (options.jointAttention)
      manager.addPass(createKernJointAttention());
  }
  if (options.fuse) {
    // Before anything stands between the two.
    manager.addPass(createKernFuseLoss());
    // GEMMs first: what their epilogue takes is not there for a kernel.
    KernFuseGemmEpilogueOptions gemms;
    gemms.library = options.target == "cuda" ? "cublaslt" : "";
    manager.addPass(createKernFuseGemmEpilogue(gemms));
    manager.addPass(createKernFuseRows());
    // Sums over rows take the cheap ends of what is left.
    manager.addPass(createKernFuseColumns());
    // What is left of sums reads what a kernel of rows reads, too.
    if (options.target == "cuda") {
      KernFuseSumsOptions sums;
      sums.leastRows = options.leastSummedRows;
      manager.addPass(createKernFuseSums(sums));
    }
    manager.addPass(createCSEPass());
  }
  if (!options.fusionReport.empty()) {
    KernReportFusionOptions report;
    report.file = options.fusionReport;
    manager.addPass(createKernReportFusion(report));
  }
  manager.addPass(createKernOutlineKernels());
  // The level ends in its verifier.
  addLevelVerifier(manager, Level::Kern);
}

/// In which bytes, on which stream.
static void addExecPasses(OpPassManager &manager,
                          const PipelineOptions &options) {
  manager.addPass(createConvertKernToExec());
  // While each value has a buffer of its own, so that no order is lost to bytes
  // that are shared.
  manager.addPass(exec::createExecOrderCollectives());
  // In that order, so that operands are known to die; fewer buffers and copies.
  manager.addPass(exec::createExecFoldWrites());
  // GEMMs of GPUs take no packed operand.
  if (options.target == "cpu")
    manager.addPass(exec::createExecPackWeights());
  // Instructions write gradients themselves now, so it is known which one
  // completes them.
  manager.addPass(exec::createExecBucketGradients());
  // Buckets reduce variables; what one microbatch makes is none any more.
  manager.addPass(exec::createExecFreeGradients());
  // All collectives stand where they will run.
  manager.addPass(exec::createExecOverlapCollectives());
  // Both ends of a transfer are in one role, so copies are counted for one.
  manager.addPass(exec::createExecJoinOwnTransfers());
  // No buffer is added or merged from here on.
  manager.addPass(exec::createExecCountCopies());
  // Of all ranks together, and before the arena has its size.
  manager.addPass(exec::createExecSettleTransfers());
  manager.addPass(exec::createExecLayOutArena());
  // Streams meet in bytes too, so events need offsets.
  manager.addPass(exec::createExecPlaceEvents());
  // Events between sequences are numbered behind those within.
  manager.addPass(exec::createExecScheduleTransfers());
  // The level ends in its verifier.
  addLevelVerifier(manager, Level::Exec);
}

void hocket::addLevelPasses(OpPassManager &manager, Level level,
                            const PipelineOptions &options) {
  switch (level) {
  case Level::Xf:
    return addXfPasses(manager);
  case Level::Dist:
    return addDistPasses(manager, options);
  case Level::Pipe:
    return addPipePasses(manager, options);
  case Level::Kern:
    return addKernPasses(manager, options);
  case Level::Exec:
    return addExecPasses(manager, options);
  case Level::Program:
    return;
  }
}

/// Adds everything up to `last`.
static void addPassesTo(OpPassManager &manager, Level last) {
  for (int level = 0; level <= static_cast<int>(last); ++level)
    addLevelPasses(manager, static_cast<Level>(level), {});
}

void hocket::registerPipelines() {
  PassPipelineRegistration<>(
      "hocket-to-xf", "From a forward pass to the whole training step",
      [](OpPassManager &manager) { addPassesTo(manager, Level::Xf); });
  PassPipelineRegistration<>(
      "hocket-to-dist", "From a forward pass to placed tensors",
      [](OpPassManager &manager) { addPassesTo(manager, Level::Dist); });
  PassPipelineRegistration<>(
      "hocket-to-pipe", "From a forward pass to scheduled fragments",
      [](OpPassManager &manager) { addPassesTo(manager, Level::Pipe); });
  PassPipelineRegistration<>(
      "hocket-to-kern", "From a forward pass to outlined kernels",
      [](OpPassManager &manager) { addPassesTo(manager, Level::Kern); });
  PassPipelineRegistration<>(
      "hocket-to-exec", "From a forward pass to a planned program",
      [](OpPassManager &manager) { addPassesTo(manager, Level::Exec); });
  PassPipelineRegistration<>(
      "hocket-kern-to-exec", "From outlined kernels to a planned program",
      [](OpPassManager &manager) { addExecPasses(manager, {}); });
}
