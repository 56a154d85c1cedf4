//===- LibraryCode.cpp - What a program's library ops are on GPUs ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/LibraryCode.h"

#include "kernels/cuda/DeviceMemory.h"
#include "kernels/cuda/Sources.h"
#include "kernels/cuda/launches/Library.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;
using namespace hocket;

namespace {

/// The launches of a program's library ops.
class LibraryCode {
public:
  LibraryCode(ModuleOp module, program::Program &program)
      : module(module), program(program) {}

  LogicalResult addRole(const program::Role &role) {
    for (const auto &sequence : role.sequences())
      for (const auto &instruction : sequence.instructions()) {
        if (!instruction.has_library())
          continue;
        kernels::CudaCall call;
        if (failed(make(instruction, call)))
          return failure();
        for (auto *list : {&call.launches, &call.hopper})
          for (kernels::CudaLaunch &launch : *list) {
            auto [known, isNew] = launches.try_emplace(launch.symbol);
            ++known->second.calls;
            if (!isNew)
              continue;
            known->second.launch = std::move(launch);
            known->second.source = instruction.source();
          }
      }
    return success();
  }

  void write() {
    if (launches.empty())
      return;
    auto *code = program.add_modules();
    code->set_name("library");
    auto *variant = code->add_variants();
    variant->set_format("cuda-c++");
    variant->set_image(kernels::standaloneSource(text(false), "library.cu"));
  }

  /// All kernels as one source; `explained`: with a comment above each.
  std::string text(bool explained) const {
    std::vector<kernels::CudaLaunch> each;
    for (const auto &[symbol, known] : launches) {
      each.push_back(known.launch);
      if (explained)
        each.back().text = commentOf(known) + each.back().text;
    }
    return kernels::cudaSource(each);
  }

private:
  /// A kernel: the first launch of it, and how often there is one.
  struct Known {
    kernels::CudaLaunch launch;
    std::string source; ///< of the first call
    int64_t calls = 0;
  };

  static std::string commentOf(const Known &known) {
    const kernels::CudaLaunch &launch = known.launch;
    std::string text =
        "// " + std::to_string(known.calls) +
        (known.calls == 1 ? " launch" : " launches") + ", the first for " +
        (known.source.empty() ? "an op without a place" : known.source) + ":\n";
    text += "// " + std::to_string(launch.grid[0]) + " x " +
            std::to_string(launch.grid[1]) + " x " +
            std::to_string(launch.grid[2]) + " blocks of " +
            std::to_string(launch.threads) + " threads";
    if (launch.isPersistent)
      text += ", at most one a multiprocessor";
    if (launch.sharedBytes > 0)
      text +=
          ", " + std::to_string(launch.sharedBytes) + " bytes of shared memory";
    text += ", of (";
    for (const kernels::CudaArgument &argument : launch.arguments)
      text += (text.ends_with('(') ? "" : ", ") + textOf(argument);
    return text + ")\n";
  }

  static std::string textOf(double real) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.9g", real);
    return text;
  }

  static std::string textOf(const kernels::CudaArgument &argument) {
    using Kind = kernels::CudaArgument::Kind;
    switch (argument.kind) {
    case Kind::Buffer:
      return "buffer " + std::to_string(argument.index);
    case Kind::Scalar:
      return "scalar " + std::to_string(argument.index);
    case Kind::Accumulate:
      return "accumulate";
    case Kind::Workspace:
      return "workspace + " + std::to_string(argument.integer);
    case Kind::Tensor:
      return "tensor map " + std::to_string(argument.index);
    case Kind::Fault:
      return "fault word";
    case Kind::I32:
    case Kind::I64:
      return std::to_string(argument.integer);
    case Kind::F32:
    case Kind::F64:
      return textOf(argument.real);
    }
    return "";
  }

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
  std::map<std::string, Known> launches;
};

} // namespace

/// Scratch memory of a library op; 0 of one that addRole() refuses.
static uint64_t workspaceOf(exec::LibraryOp library) {
  const kernels::LibraryOp *op = kernels::findLibraryOp(library.getOp().str());
  kernels::CudaCall call;
  if (!op || kernels::makeCudaCall(
                 *op,
                 {{library.getIntegers().data(), library.getIntegers().size()},
                  {library.getFloats().data(), library.getFloats().size()},
                  library.getBuffers().size(),
                  static_cast<size_t>(op->scalars)},
                 call))
    return 0;
  return static_cast<uint64_t>(call.workspaceBytes);
}

/// Of GEMMs and library ops, which use it one after another.
static uint64_t scratchOf(exec::RoleOp role) {
  uint64_t scratch = 0;
  role.walk([&](Operation *op) {
    if (isa<exec::GemmOp>(op))
      scratch = std::max(scratch, kernels::kGemmWorkspaceBytes);
    if (auto library = dyn_cast<exec::LibraryOp>(op))
      scratch = std::max(scratch, workspaceOf(library));
  });
  return scratch;
}

int64_t cuda::bytesBesideArena(exec::RoleOp role) {
  uint64_t arena = role.getArenaBytes().value_or(0);
  return static_cast<int64_t>(kernels::gpuBytes(arena, scratchOf(role)) -
                              arena);
}

LogicalResult cuda::addLibraryCode(ModuleOp module, program::Program &program) {
  LibraryCode code(module, program);
  // A role of the program for each of the module, in their order.
  for (auto [from, role] : llvm::zip_equal(module.getOps<exec::RoleOp>(),
                                           *program.mutable_roles())) {
    if (failed(code.addRole(role)))
      return failure();
    role.mutable_memory()->set_scratch_bytes_per_worker(scratchOf(from));
  }
  code.write();
  return success();
}

LogicalResult cuda::writeLibraryText(ModuleOp module, program::Program &program,
                                     std::string &text) {
  LibraryCode code(module, program);
  for (const program::Role &role : program.roles())
    if (failed(code.addRole(role)))
      return failure();
  text = code.text(true);
  return success();
}
