//===- ProgramEmitter.cpp - From exec to program.hkx ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/program/ProgramEmitter.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/kern/IR/ElementTypes.h"
#include "dialects/kern/IR/Kern.h"
#include "runtime/program/ProgramRules.h"
#include "runtime/program/ValueWriters.h"

using namespace mlir;
using namespace hocket;

// Kernels and executables number element types alike.
static_assert(static_cast<int>(kernels::DType::F32) == program::F32 &&
              static_cast<int>(kernels::DType::BF16) == program::BF16 &&
              static_cast<int>(kernels::DType::F16) == program::F16 &&
              static_cast<int>(kernels::DType::I32) == program::I32 &&
              static_cast<int>(kernels::DType::F64) == program::F64 &&
              static_cast<int>(kernels::DType::F8E4M3) == program::F8_E4M3 &&
              static_cast<int>(kernels::DType::F8E5M2) == program::F8_E5M2);

program::DType hocket::dtypeOf(Type type) {
  if (type.isInteger(8)) // Workspaces: no kernel calculates with it.
    return program::U8;
  return static_cast<program::DType>(kern::kernelTypeNumber(type));
}

static program::DType dtypeOf(loops::Element element) {
  switch (element) {
  case loops::Element::F32:
    return program::F32;
  case loops::Element::BF16:
    return program::BF16;
  case loops::Element::F16:
    return program::F16;
  case loops::Element::I32:
    return program::I32;
  case loops::Element::F8E4M3:
    return program::F8_E4M3;
  case loops::Element::F8E5M2:
    return program::F8_E5M2;
  }
  llvm_unreachable("an element type that the enumeration lacks");
}

static program::Kernel::Pattern patternOf(kern::Access access) {
  switch (access) {
  case kern::Access::Full:
    return program::Kernel::EACH;
  case kern::Access::Row:
    return program::Kernel::ROW;
  case kern::Access::Col:
    return program::Kernel::COLUMN;
  case kern::Access::Scalar:
    return program::Kernel::SINGLE;
  case kern::Access::Tiled:
    return program::Kernel::TILED;
  }
  llvm_unreachable("an access that the enumeration lacks");
}

/// The iteration space, and each buffer's elements in it.
static void emitSpace(const loops::CompiledKernel &kernel,
                      program::Kernel &out) {
  auto *space = out.mutable_space();
  space->set_rows(static_cast<uint64_t>(kernel.space.rows));
  space->set_cols(static_cast<uint64_t>(kernel.space.cols));
  space->set_task_rows(static_cast<uint64_t>(kernel.space.taskRows));
  space->set_task_cols(static_cast<uint64_t>(kernel.space.taskCols));
  space->set_vector(static_cast<uint32_t>(kernel.space.vector));
  for (const loops::KernelOperand &operand : kernel.operands) {
    auto *to = out.add_operands();
    to->set_access(operand.written ? program::WRITE : program::READ);
    to->set_dtype(dtypeOf(operand.buffer.element));
    to->set_pattern(patternOf(operand.buffer.access));
    to->set_elements(operand.buffer.elements);
    to->set_overwritten(operand.overwritten);
  }
  out.set_accumulates(kernel.accumulates);
}

/// The code of all kernels as one module with a variant an instruction set.
static void emitKernels(const KernelCode &kernels, program::Program &program,
                        EmittedKernels &emitted) {
  auto *code = program.add_modules();
  code->set_name("kernels");
  for (const loops::CodeVariant &variant : kernels.variants) {
    auto *out = code->add_variants();
    out->set_isa(variant.isa);
    out->set_format(variant.format);
    out->set_image(variant.image);
  }
  for (const loops::CompiledKernel &kernel : kernels.kernels) {
    emitted[kernel.name] = {static_cast<uint32_t>(program.kernels_size()),
                            kernel.usesRandom};
    auto *out = program.add_kernels();
    out->set_name(kernel.name);
    out->set_module(0);
    out->set_symbol(kernel.symbol);
    out->set_tasks(kernel.tasks);
    out->set_grain(kernel.grain);
    out->set_scalars(kernel.scalars);
    out->set_description(kernel.description);
    out->set_flops(kernel.flops);
    out->set_bytes(kernel.bytes);
    out->set_threads(kernel.threads);
    out->set_shared_bytes(kernel.sharedBytes);
    emitSpace(kernel, *out);
  }
}

LogicalResult hocket::emitProgram(ModuleOp module, const KernelCode &code,
                                  program::Program &program) {
  program.set_version(programVersion);
  for (auto mesh : module.getOps<step::MeshOp>())
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
    emitKernels(code, program, kernels);
  GroupTable groups(program);
  TextTable texts(*program.mutable_explanation());
  emitExplanation(module, texts, program);
  StageOwners owners = findOwners(module);
  for (exec::RoleOp role : roles) {
    if (!role.getArenaBytes())
      return role.emitOpError("has no arena: its passes have not all run");
    if (failed(emitRole(role, kernels, groups, texts, program)) ||
        failed(emitParameters(role, owners, groups, program)))
      return failure();
    stateWriters(program, *program.mutable_roles(program.roles_size() - 1));
    for (int64_t rank : role.getRanks()) {
      auto *peak = program.mutable_certificate()->add_peaks();
      peak->set_rank(static_cast<uint32_t>(rank));
      peak->set_memory("arena");
      peak->set_bytes(role.getArenaBytes().value_or(0));
    }
  }
  return success();
}
