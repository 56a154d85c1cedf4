//===- Registration.cpp - What the tools know -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Registration.h"

#include "compiler/pipelines/Pipelines.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/kern/IR/Kern.h"
#include "dialects/pipe/IR/Pipe.h"
#include "dialects/plan/IR/Plan.h"
#include "dialects/step/IR/Step.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/analysis/Passes.h"
#include "passes/conversion/Passes.h"
#include "passes/conversion/PipeToKern/PipeToKern.h"
#include "passes/dist/Passes.h"
#include "passes/exec/Passes.h"
#include "passes/kern/Passes.h"
#include "passes/pipe/Passes.h"
#include "passes/xf/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/Passes.h"

void hocket::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect>();
  registry.insert<plan::PlanDialect, step::StepDialect, xf::XfDialect,
                  dist::DistDialect, pipe::PipeDialect, kern::KernDialect,
                  exec::ExecDialect>();
}

void hocket::registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerInlinerPass();
  mlir::registerSymbolDCEPass();
  registerHocketAnalysisPasses();
  registerHocketConversionPasses();
  registerPipeToKernPasses();
  xf::registerXfPasses();
  dist::registerDistPasses();
  pipe::registerPipePasses();
  registerKernPasses();
  exec::registerExecPasses();
  registerPipelines();
}
