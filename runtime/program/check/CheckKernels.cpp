//===- CheckKernels.cpp - Checks of kernels and their code ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a kernel's native code does is not looked at. What the file says of it
/// must fit together: tasks follow from the iteration space, and elements of
/// operands too. That launches pass buffers of just these elements is V21.
///
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/NativeObject.h"

using namespace hocket;
using program::Kernel;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

using Variant = program::KernelModule::Variant;

static bool isForGpu(const program::KernelModule &module) {
  return module.variants_size() > 0 && module.variants(0).format() != "elf-so";
}

/// "sm_80", "sm_90a", "sm_100f".
static bool isArchitecture(std::string_view isa) {
  if (!isa.starts_with("sm_") || isa.size() < 5)
    return false;
  isa.remove_prefix(3);
  if (isa.back() == 'a' || isa.back() == 'f')
    isa.remove_suffix(1);
  return isa.size() >= 2 && isa.size() <= 4 &&
         isa.find_first_not_of("0123456789") == std::string_view::npos;
}

/// What is wrong with a variant's code, or "".
static std::string variantFault(const Variant &variant) {
  const std::string &format = variant.format();
  if (format != "elf-so" && format != "cubin" && format != "cuda-c++")
    return "format '" + format +
           "' is unknown, expected 'elf-so', 'cubin' or 'cuda-c++'";
  if (format == "cuda-c++") {
    bool text = !variant.image().empty() &&
                variant.image().find('\0') == std::string::npos;
    if (!text || !variant.isa().empty())
      return "a source must be a text for every GPU";
    return "";
  }
  if (variant.image().compare(0, 4,
                              "\x7f"
                              "ELF") != 0)
    return "variant '" + variant.isa() +
           (format == "cubin" ? "' is not a cubin"
                              : "' is not an ELF shared object");
  if (format == "cubin" && !isArchitecture(variant.isa()))
    return "a cubin is for '" + variant.isa() +
           "', which is no architecture, e.g. sm_90a";
  return "";
}

static void checkModules(const program::Program &program, FaultList &faults) {
  for (int i = 0; i < program.modules_size(); ++i) {
    const program::KernelModule &module = program.modules(i);
    std::string place = formatText("module %d '%s'", i, module.name().c_str());
    if (module.variants_size() == 0)
      faults.add(ProgramRule::Kernels, place, "has no variant");
    for (const Variant &variant : module.variants()) {
      if (std::string fault = variantFault(variant); !fault.empty())
        faults.add(ProgramRule::Kernels, place, fault);
      else if ((variant.format() == "elf-so") == isForGpu(module))
        faults.add(ProgramRule::Kernels, place,
                   "has variants for processors and for GPUs");
      else if (variant.format() == "elf-so")
        if (std::string fault = nativeObjectFault(variant.image());
            !fault.empty())
          faults.add(ProgramRule::NativeObjects, place,
                     "variant '" + variant.isa() + "' " + fault);
    }
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The launch of a kernel on a GPU; all of these are what CUDA allows, and
/// threads come in warps.
static void checkGeometry(const Kernel &kernel, bool forGpu,
                          const std::string &place, FaultList &faults) {
  constexpr uint64_t mostBlocks = (uint64_t(1) << 31) - 1;
  constexpr uint32_t warp = 32, mostThreads = 1024, mostShared = 227 * 1024;
  if (!forGpu && (kernel.threads() != 0 || kernel.shared_bytes() != 0))
    faults.add(ProgramRule::Kernels, place,
               "has threads of a GPU, its module has no code for one");
  if (forGpu &&
      (kernel.threads() % warp != 0 || kernel.threads() < warp ||
       kernel.threads() > mostThreads || kernel.tasks() > mostBlocks ||
       kernel.shared_bytes() > mostShared))
    faults.add(
        ProgramRule::Kernels, place,
        "on a GPU a kernel has a multiple of 32 threads a block, at most "
        "1024, at most 2^31 - 1 blocks and 227 KiB of shared memory");
}

static uint64_t divideUp(uint64_t value, uint64_t by) {
  return value / by + (value % by != 0);
}

/// How many tasks the space has; 0 where it has none or too many.
static uint64_t tasksOf(const Kernel &kernel) {
  const Kernel::Space &space = kernel.space();
  constexpr uint64_t limit = uint64_t(1) << 56;
  std::optional<uint64_t> points = checkedMultiply(space.rows(), space.cols());
  if (!points || *points == 0 || *points > limit)
    return 0;
  if (uint64_t vector = space.vector())
    return kernel.threads() == 0 || space.task_rows() || space.task_cols()
               ? 0
               : divideUp(space.rows() * divideUp(space.cols(), vector),
                          kernel.threads());
  if (space.task_rows() == 0 || space.task_cols() == 0 ||
      space.task_rows() > space.rows())
    return 0;
  return divideUp(space.rows(), space.task_rows()) *
         divideUp(space.cols(), space.task_cols());
}

/// Whether so many elements follow the space in this way.
static bool follows(const Kernel::Space &space,
                    const Kernel::Operand &operand) {
  uint64_t elements = operand.elements();
  switch (operand.pattern()) {
  case Kernel::EACH:
    return elements == space.rows() * space.cols();
  case Kernel::ROW:
    return elements == space.rows();
  case Kernel::COLUMN:
    return elements == space.cols();
  case Kernel::SINGLE:
    return elements == 1;
  case Kernel::TILED:
    return elements > 0 && elements % space.cols() == 0 &&
           space.rows() % (elements / space.cols()) == 0;
  default:
    return false;
  }
}

/// Tasks and operands against the space.
static void checkSpace(const Kernel &kernel, const std::string &place,
                       FaultList &faults) {
  const Kernel::Space &space = kernel.space();
  auto add = [&](const std::string &what) {
    faults.add(ProgramRule::KernelSpaces, place, what);
  };
  uint64_t tasks = tasksOf(kernel);
  if (tasks == 0)
    return add(formatText("its space of %llu x %llu cannot be cut into tasks "
                          "of %llu x %llu, or vectors of %u",
                          wide(space.rows()), wide(space.cols()),
                          wide(space.task_rows()), wide(space.task_cols()),
                          space.vector()));
  if (tasks != kernel.tasks())
    add(formatText("has %llu tasks, its space of %llu x %llu makes %llu",
                   wide(kernel.tasks()), wide(space.rows()), wide(space.cols()),
                   wide(tasks)));
  for (int i = 0; i < kernel.operands_size(); ++i) {
    const Kernel::Operand &operand = kernel.operands(i);
    if (!program::Access_IsValid(operand.access()) ||
        operand.access() == program::UNKNOWN)
      add(formatText("does not say what it does to operand %d", i));
    if (dataTypeBytes(operand.dtype()) == 0)
      add(formatText("operand %d: element type %d does not exist", i,
                     int(operand.dtype())));
    if (!follows(space, operand))
      add(formatText("operand %d of %llu elements does not follow its space "
                     "of %llu x %llu",
                     i, wide(operand.elements()), wide(space.rows()),
                     wide(space.cols())));
  }
  if (kernel.accumulates() && kernel.scalars() < 4)
    add(formatText("accumulates as scalar 3 says, and takes %u",
                   kernel.scalars()));
}

void hocket::checkKernels(const program::Program &program, FaultList &faults) {
  checkModules(program, faults);
  for (int i = 0; i < program.kernels_size(); ++i) {
    const Kernel &kernel = program.kernels(i);
    std::string place = formatText("kernel %d '%s'", i, kernel.name().c_str());
    if (kernel.module() >= uint32_t(program.modules_size()))
      faults.add(ProgramRule::Kernels, place,
                 formatText("names module %u, there are %d", kernel.module(),
                            program.modules_size()));
    else
      checkGeometry(kernel, isForGpu(program.modules(int(kernel.module()))),
                    place, faults);
    if (kernel.symbol().empty() ||
        kernel.symbol().find('\0') != std::string::npos)
      faults.add(ProgramRule::Kernels, place, "has no symbol");
    if (kernel.tasks() == 0 || kernel.tasks() > uint64_t(1) << 56 ||
        kernel.grain() > uint64_t(1) << 56)
      faults.add(ProgramRule::Kernels, place,
                 "tasks must be from 1 to 2^56, grain at most 2^56");
    else
      checkSpace(kernel, place, faults);
  }
}
