//===- CompiledKernel.cpp - What is known of a compiled kernel ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/loops/CompiledKernel.h"

using namespace mlir;

namespace hocket::loops {

CompiledKernel describe(const KernelPlan &plan) {
  CompiledKernel kernel;
  kern::KernelOp op = plan.kernel;
  kernel.name = op.getSymName().str();
  kernel.symbol = plan.symbol;
  kernel.space.rows = plan.rows;
  kernel.space.cols = plan.cols;
  for (const PlanBuffer &input : plan.inputs)
    kernel.operands.push_back({input, false});
  for (const PlanResult &result : plan.results)
    kernel.operands.push_back(
        {result.buffer, true,
         plan.accumulates && !op.getByColumns() && !plan.isSum(result)});
  kernel.accumulates = plan.accumulates;
  kernel.scalars = 4 + op.getInstances();
  kernel.usesRandom = plan.usesRandom;
  kernel.flops = plan.flops();
  kernel.bytes = plan.bytes();
  llvm::raw_string_ostream stream(kernel.description);
  stream << op.getLabel() << (op.getLabel().empty() ? "[" : " [")
         << op.getRows() << " x " << op.getCols() << "]";
  if (op.getByColumns())
    stream << " summed over rows";
  return kernel;
}

} // namespace hocket::loops
