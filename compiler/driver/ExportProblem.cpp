//===- ExportProblem.cpp - A program's strategies as a problem ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/ExportProblem.h"

#include "compiler/driver/DiagnosticText.h"
#include "compiler/driver/Registration.h"
#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/conversion/Passes.h"
#include "passes/xf/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace hocket;

/// Strategies are chosen over dp and tp alone.
static Status checkAxes(const plan::ParallelPlan &plan) {
  const std::pair<const char *, int64_t> others[] = {
      {"pipeline_parallel", plan.pp},
      {"context_parallel", plan.cp},
      {"virtual_stages", plan.chunks}};
  for (auto [field, size] : others)
    if (size > 1)
      return invalidArgument("strategies are chosen for plans of the axes dp "
                             "and tp, and plan." +
                             std::string(field) +
                             " is not 1; leave it out, or write --axes");
  if (plan.ranks() == 1)
    return invalidArgument("the plan is of one device; write its mesh, as in "
                           "--mesh dp=2,tp=4, or --axes");
  return okStatus();
}

/// A failure is the input's fault where that is a .mlir file.
static Status runPass(ModuleOp module, std::unique_ptr<Pass> pass,
                      llvm::StringRef input) {
  PassManager manager(module.getContext());
  manager.addPass(std::move(pass));
  DiagnosticText diagnostics(*module.getContext());
  if (succeeded(manager.run(module)))
    return okStatus();
  return llvm::sys::path::extension(input) == ".mlir"
             ? invalidArgument(diagnostics.text())
             : internalError(diagnostics.text());
}

/// Puts the plan's mesh and seeds into `module`.
static Status placePlan(ModuleOp module, llvm::StringRef input) {
  HOCKET_RETURN_IF_ERROR(checkAxes(plan::planOf(module)));
  auto routes =
      module.walk([](xf::RouterOp) { return WalkResult::interrupt(); });
  if (routes.wasInterrupted())
    return invalidArgument("strategies are chosen for plans of models without "
                           "experts; write --axes for a bound");
  return runPass(module, createConvertXfToDist(), input);
}

/// As many devices in the mesh as in the cluster.
static Status checkDevices(ModuleOp module,
                           const dist::StrategyExport &options) {
  double devices = 1;
  for (const auto &[name, size] : options.axes)
    devices *= double(size);
  if (options.isPlan())
    for (auto mesh : module.getOps<dist::MeshOp>())
      devices = double(mesh.getDeviceCount());
  if (devices == double(options.cluster.devices))
    return okStatus();
  return invalidArgument(
      (options.isPlan() ? "the ranks of the plan"
                        : "--axes " + planning::meshText(options.axes)) +
      " are not the " + std::to_string(options.cluster.devices) +
      " devices of --cluster");
}

StatusOr<planning::StrategyProblem>
hocket::exportProblem(CompileRequest request, dist::StrategyExport options) {
  // 1. The step on global tensors.
  request.to = Level::Xf;
  HOCKET_ASSIGN_OR_RETURN(CompileResult compiled, compile(request));
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(compiled.text, &context);
  if (!module)
    return internalError(request.input + ": its xf IR cannot be read again");
  // 2. The mesh.
  Status placed = runPass(*module, xf::createXfSizeMicrobatch(), request.input);
  if (placed.ok() && options.isPlan())
    placed = placePlan(*module, request.input);
  if (placed.ok())
    placed = checkDevices(*module, options);
  if (!placed.ok())
    return placed.withContext(request.input);
  // 3. The problem.
  options.memory = options.cluster.system.device().memory_bytes();
  StatusOr<planning::StrategyProblem> problem =
      dist::exportStrategies(*module, options);
  if (!problem.ok())
    return problem.status().withContext(request.input);
  problem->name = request.input;
  HOCKET_RETURN_IF_ERROR(planning::checkStrategyProblem(*problem));
  return problem;
}
