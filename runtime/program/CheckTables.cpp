//===- CheckTables.cpp - Checks of what all roles share -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CheckedMath.h"
#include "runtime/base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FaultList.h"

#include <cmath>
#include <set>

using namespace hocket;

/// More ranks or tensor dims than anybody has.
static constexpr uint64_t rankLimit = uint64_t(1) << 20;
static constexpr int dimLimit = 8;

static uint64_t meshSize(const program::Mesh &mesh) {
  uint64_t ranks = 1;
  for (const auto &axis : mesh.axes()) {
    std::optional<uint64_t> product = checkedMultiply(ranks, axis.size());
    if (!product || *product > rankLimit)
      return rankLimit + 1;
    ranks = *product;
  }
  return ranks;
}

static void checkLearningRate(const program::LearningRate &rate,
                              FaultList &faults) {
  static const std::set<std::string> schedules = {
      "constant", "linear", "cosine", "inverse_sqrt", "wsd"};
  if (!schedules.count(rate.schedule()))
    faults.add(ProgramRule::Training, "learning rate",
               "schedule '" + rate.schedule() +
                   "' is not one of constant, linear, "
                   "cosine, inverse_sqrt, wsd");
  if (!std::isfinite(rate.peak()) || rate.peak() < 0 ||
      !std::isfinite(rate.minimum()) || rate.minimum() < 0)
    faults.add(ProgramRule::Training, "learning rate",
               "peak and minimum must be finite and not "
               "negative");
}

static void checkLossScale(const program::LossScale &scale, FaultList &faults) {
  bool sound = std::isfinite(scale.initial()) && scale.initial() > 0 &&
               std::isfinite(scale.growth_factor()) &&
               scale.growth_factor() >= 1 && scale.backoff_factor() > 0 &&
               scale.backoff_factor() <= 1 && scale.minimum() >= 0;
  if (!sound)
    faults.add(ProgramRule::Training, "loss scale",
               "wants initial > 0, growth factor >= 1, backoff "
               "factor in (0, 1] and minimum >= 0");
}

static void checkTraining(const program::Program &program, FaultList &faults) {
  const program::TrainingInfo &training = program.training();
  const program::ModelInfo &model = program.model();
  if (training.micro_batch_size() == 0 || training.microbatches() == 0 ||
      model.sequence_length() == 0 || model.vocab_size() == 0) {
    faults.add(ProgramRule::Training, "training",
               "micro batch size, microbatches, sequence length "
               "and vocabulary size must be positive");
    return;
  }
  std::optional<uint64_t> perRank =
      checkedMultiply(training.micro_batch_size(), training.microbatches());
  if (!perRank || training.global_batch_size() == 0 ||
      training.global_batch_size() % *perRank != 0)
    faults.add(ProgramRule::Training, "training",
               formatText("global batch size %llu is no multiple of micro "
                          "batch size %llu x %llu microbatches",
                          (unsigned long long)training.global_batch_size(),
                          (unsigned long long)training.micro_batch_size(),
                          (unsigned long long)training.microbatches()));
  if (!std::isfinite(training.clip_norm()) || training.clip_norm() < 0)
    faults.add(ProgramRule::Training, "training",
               "clip norm must be finite and not negative");
  checkLearningRate(training.learning_rate(), faults);
  if (training.has_loss_scale())
    checkLossScale(training.loss_scale(), faults);
}

template <typename Shape>
static void checkShape(const std::string &place, const Shape &shape,
                       program::DType dtype, FaultList &faults) {
  if (dataTypeBytes(dtype) == 0)
    faults.add(ProgramRule::Parameters, place,
               formatText("element type %d does not exist", int(dtype)));
  else if (shape.size() > dimLimit)
    faults.add(ProgramRule::Parameters, place,
               formatText("has %d dims, at most %d are supported",
                          int(shape.size()), dimLimit));
  else if (std::optional<uint64_t> bytes = tensorBytes(shape, dtype); !bytes)
    faults.add(ProgramRule::Parameters, place,
               "shape " + shapeText(shape) + " has more than 2^64 bytes");
  else if (*bytes == 0)
    faults.add(ProgramRule::Parameters, place,
               "shape " + shapeText(shape) + " is empty");
}

static void checkInitializer(const std::string &place,
                             const program::Initializer &initializer,
                             FaultList &faults) {
  static const std::set<std::string> kinds = {"normal", "zeros", "ones",
                                              "constant"};
  if (!kinds.count(initializer.kind()))
    faults.add(ProgramRule::Parameters, place,
               "initializer '" + initializer.kind() +
                   "' is not one of normal, zeros, ones, constant");
  if (!std::isfinite(initializer.stddev()) || initializer.stddev() < 0 ||
      !std::isfinite(initializer.value()))
    faults.add(ProgramRule::Parameters, place,
               "the initializer's numbers must be finite");
}

static void checkParameters(const program::Program &program,
                            FaultList &faults) {
  std::set<std::string> names;
  for (int i = 0; i < program.parameters_size(); ++i) {
    const program::Parameter &parameter = program.parameters(i);
    std::string place =
        formatText("parameter %d '%s'", i, parameter.name().c_str());
    if (parameter.name().empty())
      faults.add(ProgramRule::Parameters, place, "has no name");
    else if (!names.insert(parameter.name()).second)
      faults.add(ProgramRule::Parameters, place,
                 "another parameter has the same name");
    checkShape(place, parameter.shape(), parameter.dtype(), faults);
    checkInitializer(place, parameter.initializer(), faults);
    std::set<std::string> slots = {"value", ""};
    for (const auto &slot : parameter.slots()) {
      if (!slots.insert(slot.name()).second)
        faults.add(ProgramRule::Parameters, place,
                   "slot name '" + slot.name() +
                       "' is empty, reserved or used twice");
      checkShape(place + ", slot '" + slot.name() + "'", slot.shape(),
                 slot.dtype(), faults);
    }
  }
}

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
    }
  }
}

/// The launch of a kernel on a GPU; all of these are what CUDA allows.
static void checkGeometry(const program::Kernel &kernel, bool forGpu,
                          const std::string &place, FaultList &faults) {
  constexpr uint64_t mostBlocks = (uint64_t(1) << 31) - 1;
  constexpr uint32_t mostThreads = 1024, mostShared = 227 * 1024;
  if (!forGpu && (kernel.threads() != 0 || kernel.shared_bytes() != 0))
    faults.add(ProgramRule::Kernels, place,
               "has threads of a GPU, its module has no code for one");
  if (forGpu &&
      (kernel.threads() == 0 || kernel.threads() > mostThreads ||
       kernel.tasks() > mostBlocks || kernel.shared_bytes() > mostShared))
    faults.add(ProgramRule::Kernels, place,
               "on a GPU a kernel has from 1 to 1024 threads a block, at most "
               "2^31 - 1 blocks and 227 KiB of shared memory");
}

static void checkKernels(const program::Program &program, FaultList &faults) {
  for (int i = 0; i < program.kernels_size(); ++i) {
    const program::Kernel &kernel = program.kernels(i);
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
    if (kernel.access_size() != 0 &&
        uint32_t(kernel.access_size()) != kernel.buffers())
      faults.add(ProgramRule::Kernels, place,
                 formatText("tells the access of %d buffers, it has %u",
                            kernel.access_size(), kernel.buffers()));
  }
}

void hocket::checkTables(const program::Program &program, FaultList &faults) {
  if (program.version() != 1)
    faults.add(ProgramRule::Ranks, "",
               formatText("program version %u, expected 1", program.version()));
  if (program.roles_size() == 0)
    faults.add(ProgramRule::Ranks, "", "the program has no role");
  checkTraining(program, faults);
  checkParameters(program, faults);
  checkModules(program, faults);
  checkKernels(program, faults);
}

void hocket::checkRanks(const program::Program &program, FaultList &faults) {
  uint64_t ranks = meshSize(program.mesh());
  if (ranks == 0 || ranks > rankLimit) {
    faults.add(ProgramRule::Ranks, "mesh", "must have from 1 to 2^20 ranks");
    return;
  }
  std::vector<int> owner(ranks, -1);
  uint64_t assigned = 0;
  for (int role = 0; role < program.roles_size(); ++role)
    for (uint32_t rank : program.roles(role).ranks()) {
      if (rank >= ranks || owner[rank] >= 0) {
        faults.add(ProgramRule::Ranks, ProgramPlace{program, role}.text(),
                   formatText("rank %u %s", rank,
                              rank >= ranks ? "is not in the mesh"
                                            : "has a role already"));
        continue;
      }
      owner[rank] = role;
      ++assigned;
    }
  if (assigned != ranks)
    faults.add(ProgramRule::Ranks, "mesh",
               formatText("%llu ranks have no role",
                          (unsigned long long)(ranks - assigned)));
}
