//===- LibraryCode.cpp - What a program's library ops are on GPUs ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/LibraryCode.h"

#include "kernels/cuda/Library.h"
#include "kernels/cuda/Sources.h"

#include <map>

using namespace mlir;
using namespace hocket;

namespace {

/// The launches of a program's library ops.
class LibraryCode {
public:
  LibraryCode(ModuleOp module, program::Program &program)
      : module(module), program(program) {}

  LogicalResult addRole(program::Role &role) {
    uint64_t scratch = 0;
    for (const auto &sequence : role.sequences())
      for (const auto &instruction : sequence.instructions()) {
        if (instruction.has_gemm())
          scratch = std::max(scratch, cuda::kProductWorkspaceBytes);
        if (!instruction.has_library())
          continue;
        kernels::CudaCall call;
        if (failed(make(instruction, call)))
          return failure();
        scratch = std::max(scratch, static_cast<uint64_t>(call.workspaceBytes));
        for (auto *list : {&call.launches, &call.hopper})
          for (kernels::CudaLaunch &launch : *list)
            launches.try_emplace(launch.symbol, std::move(launch));
      }
    role.mutable_memory()->set_scratch_bytes_per_worker(scratch);
    return success();
  }

  void write() {
    if (launches.empty())
      return;
    std::vector<kernels::CudaLaunch> each;
    for (auto &[symbol, launch] : launches)
      each.push_back(std::move(launch));
    auto *code = program.add_modules();
    code->set_name("library");
    auto *variant = code->add_variants();
    variant->set_format("cuda-c++");
    variant->set_image(
        kernels::standaloneSource(kernels::cudaSource(each), "library.cu"));
  }

private:
  LogicalResult make(const program::Instruction &instruction,
                     kernels::CudaCall &call) {
    const program::Library &library = instruction.library();
    const kernels::LibraryOp *op = kernels::findLibraryOp(library.op());
    kernels::KernelError error = "no such op";
    if (op)
      error =
          kernels::makeCudaCall(*op,
                                {{library.integers().data(),
                                  static_cast<size_t>(library.integers_size())},
                                 {library.floats().data(),
                                  static_cast<size_t>(library.floats_size())},
                                 static_cast<size_t>(library.buffers_size()),
                                 static_cast<size_t>(library.scalars_size())},
                                call);
    if (!error)
      return success();
    // At the place, not the module: that would be printed whole.
    return emitError(module.getLoc(), "library op '")
           << library.op() << "' of " << instruction.source()
           << " cannot run on a GPU: " << error;
  }

  ModuleOp module;
  program::Program &program;
  /// By symbol, so that the text does not depend on the order of roles.
  std::map<std::string, kernels::CudaLaunch> launches;
};

} // namespace

LogicalResult cuda::addLibraryCode(ModuleOp module, program::Program &program) {
  LibraryCode code(module, program);
  for (program::Role &role : *program.mutable_roles())
    if (failed(code.addRole(role)))
      return failure();
  code.write();
  return success();
}
