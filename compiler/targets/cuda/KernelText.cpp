//===- KernelText.cpp - Fused kernels to CUDA C++ -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/KernelText.h"

#include "compiler/targets/cuda/KernelWriter.h"
#include "kernels/cuda/Sources.h"

using namespace mlir;

namespace hocket::cuda {

/// What a block computes.
static void describeBlocks(const KernelPlan &plan, const Geometry &geometry,
                           loops::KernelSpace &space) {
  switch (geometry.form) {
  case Geometry::Form::Flat:
    space.vector = geometry.width;
    break;
  case Geometry::Form::Rows:
    space.taskRows =
        std::min(space.rows,
                 plan.sums() > 0 ? geometry.partRows : geometry.rowsOfBlock());
    space.taskCols = space.cols;
    break;
  case Geometry::Form::Columns:
    space.taskRows = geometry.partRows;
    space.taskCols = int64_t(geometry.lanes) * geometry.width;
    break;
  }
}

LogicalResult writeKernels(ModuleOp module, std::vector<CudaKernel> &kernels) {
  for (kern::KernelOp kernel : module.getOps<kern::KernelOp>()) {
    FailureOr<KernelPlan> plan = loops::planKernel(kernel, kRowBufferBytes);
    if (failed(plan))
      return failure();
    FailureOr<Geometry> geometry = chooseGeometry(*plan);
    if (failed(geometry))
      return failure();
    CudaKernel written{loops::describe(*plan),
                       KernelWriter(*plan, *geometry).write()};
    written.about.tasks = geometry->blocks;
    describeBlocks(*plan, *geometry, written.about.space);
    written.about.threads = static_cast<uint32_t>(geometry->block);
    written.about.sharedBytes =
        static_cast<uint32_t>(geometry->sharedFloats * 4);
    kernels.push_back(std::move(written));
  }
  return success();
}

std::string sourceOf(const std::vector<CudaKernel> &kernels) {
  std::string source = "#include \"kernels/cuda/Device.cuh\"\n"
                       "#include \"kernels/cuda/Random.cuh\"\n\n"
                       "using namespace hocket::cuda;\n";
  for (const CudaKernel &kernel : kernels)
    source += "\n" + kernel.source;
  return source;
}

loops::CodeVariant codeOf(const std::vector<CudaKernel> &kernels) {
  return {"", "cuda-c++",
          kernels::standaloneSource(sourceOf(kernels), "kernels.cu")};
}

} // namespace hocket::cuda
