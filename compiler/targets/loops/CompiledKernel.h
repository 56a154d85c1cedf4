//===- CompiledKernel.h - What is known of a compiled kernel ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_LOOPS_COMPILEDKERNEL_H
#define HOCKET_COMPILER_TARGETS_LOOPS_COMPILEDKERNEL_H

#include "compiler/targets/loops/KernelPlan.h"

namespace hocket::loops {

/// The iteration space and what of it a task computes: `taskRows` x `taskCols`
/// elements or, where `vector` is not 0, as many vectors of so many columns as
/// a block has threads.
struct KernelSpace {
  int64_t rows = 1, cols = 1;
  int64_t taskRows = 0, taskCols = 0;
  int64_t vector = 0;
};

/// A buffer of a kernel, of which it reads or writes all elements.
struct KernelOperand {
  PlanBuffer buffer;
  bool written = false;
  bool overwritten = false; ///< Whatever scalar 3 of a kernel that heeds it is.
};

/// What the runtime must know of one kernel; the same for every instruction
/// set.
struct CompiledKernel {
  std::string name;   ///< The kern.kernel's symbol name.
  std::string symbol; ///< Its function in the code.
  int64_t tasks = 0;  ///< End of the iteration space; at least 1. On a GPU
                      ///< a task is a block.
  int64_t grain = 1;  ///< Least tasks worth a thread of their own.
  KernelSpace space;
  std::vector<KernelOperand> operands; ///< Inputs, then results.
  bool accumulates = false;            ///< Heeds scalar 3.
  unsigned scalars = 0;
  /// Whether its first three scalars, the key, mean something.
  bool usesRandom = false;
  double flops = 0;         ///< Of all tasks; a transcendental counts as ten.
  uint64_t bytes = 0;       ///< Least traffic: every input and result once.
  std::string description;  ///< Label and iteration space.
  uint32_t threads = 0;     ///< Of a block; 0 on a processor.
  uint32_t sharedBytes = 0; ///< Dynamic shared memory of a block.
};

/// Everything but how it is launched: `tasks`, `grain`, the tasks of `space`
/// and what follows.
CompiledKernel describe(const KernelPlan &plan);

/// Code of all kernels for one kind of device, as a program holds it.
struct CodeVariant {
  std::string isa;    ///< "x86-64-v4", "sm_90a"
  std::string format; ///< "elf-so", "cuda-c++"
  std::string image;
};

} // namespace hocket::loops

#endif // HOCKET_COMPILER_TARGETS_LOOPS_COMPILEDKERNEL_H
