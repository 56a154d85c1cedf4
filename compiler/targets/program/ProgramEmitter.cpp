//===- ProgramEmitter.cpp - From exec to program.hkx ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/program/ProgramEmitter.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/kern/IR/Kern.h"

using namespace mlir;
using namespace hocket;

program::DType hocket::dtypeOf(Type type) {
  if (type.isF32())
    return program::F32;
  if (type.isBF16())
    return program::BF16;
  if (type.isF16())
    return program::F16;
  if (isa<Float8E4M3FNType>(type))
    return program::F8_E4M3;
  if (isa<Float8E5M2Type>(type))
    return program::F8_E5M2;
  if (type.isF64())
    return program::F64;
  if (type.isInteger(32))
    return program::I32;
  if (type.isInteger(8))
    return program::U8;
  return program::DTYPE_UNSPECIFIED;
}

/// The code of all kernels as one module with a variant an instruction set.
static void emitKernels(ModuleOp module, const KernelCode &kernels,
                        program::Program &program, EmittedKernels &emitted) {
  auto *code = program.add_modules();
  code->set_name("kernels");
  for (const loops::CodeVariant &variant : kernels.variants) {
    auto *out = code->add_variants();
    out->set_isa(variant.isa);
    out->set_format(variant.format);
    out->set_image(variant.image);
  }
  SymbolTable symbols(module);
  for (const loops::CompiledKernel &kernel : kernels.kernels) {
    emitted[kernel.name] = {static_cast<uint32_t>(program.kernels_size()),
                            kernel.usesRandom};
    auto *out = program.add_kernels();
    out->set_name(kernel.name);
    out->set_module(0);
    out->set_symbol(kernel.symbol);
    out->set_tasks(kernel.tasks);
    out->set_grain(kernel.grain);
    out->set_buffers(kernel.buffers);
    out->set_scalars(kernel.scalars);
    out->set_description(kernel.description);
    out->set_flops(kernel.flops);
    out->set_bytes(kernel.bytes);
    out->set_threads(kernel.threads);
    out->set_shared_bytes(kernel.sharedBytes);
    auto op = symbols.lookup<kern::KernelOp>(kernel.name);
    size_t inputs = op.getInputTypes().size();
    for (size_t i = 0; i < kernel.buffers; ++i)
      out->add_access(i < inputs ? program::READ : program::WRITE);
  }
}

LogicalResult hocket::emitProgram(ModuleOp module, const KernelCode &code,
                                  program::Program &program) {
  program.set_version(1);
  for (auto mesh : module.getOps<dist::MeshOp>())
    for (auto [name, size] :
         llvm::zip(mesh.getAxes().getAsRange<StringAttr>(), mesh.getSizes())) {
      auto *axis = program.mutable_mesh()->add_axes();
      axis->set_name(name.getValue().str());
      axis->set_size(static_cast<uint32_t>(size));
    }
  if (failed(emitTraining(module, program)))
    return failure();
  auto roles = module.getOps<exec::RoleOp>();
  if (roles.empty())
    return module.emitError("no `exec.role`: the module has not been lowered "
                            "to the level exec");
  EmittedKernels kernels;
  if (!code.kernels.empty())
    emitKernels(module, code, program, kernels);
  GroupTable groups(program);
  TextTable texts(*program.mutable_explanation());
  emitExplanation(module, texts, program);
  StageOwners owners = findOwners(module);
  for (exec::RoleOp role : roles) {
    if (failed(emitRole(role, kernels, groups, texts, program)) ||
        failed(emitParameters(role, owners, groups, program)))
      return failure();
    for (int64_t rank : role.getRanks()) {
      auto *peak = program.mutable_certificate()->add_peaks();
      peak->set_rank(static_cast<uint32_t>(rank));
      peak->set_memory("arena");
      peak->set_bytes(role.getArenaBytes());
    }
  }
  return success();
}
