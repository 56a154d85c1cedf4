//===- Executor.cpp - Runs the program of one rank ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/executor/Executor.h"

#include "runtime/base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/InstructionOperands.h"

#include <algorithm>
#include <chrono>

using namespace hocket;

/// The role of `rank`, or -1.
static int findRole(const program::Program &program, unsigned rank) {
  for (int role = 0; role < program.roles_size(); ++role)
    for (uint32_t member : program.roles(role).ranks())
      if (member == rank)
        return role;
  return -1;
}

StatusOr<std::unique_ptr<Executor>>
Executor::create(std::shared_ptr<const program::Program> program,
                 std::unique_ptr<hal::Device> device,
                 comm::Communicator &communicator) {
  std::unique_ptr<Executor> executor(new Executor());
  executor->roleIndex = findRole(*program, communicator.rank());
  if (executor->roleIndex < 0)
    return invalidArgument(
        formatText("the program has no role for rank %u", communicator.rank()));
  size_t ranks = 0;
  for (const program::Role &role : program->roles())
    ranks += size_t(role.ranks_size());
  if (ranks != communicator.size())
    return invalidArgument(formatText("the program is for %zu ranks, %u run",
                                      ranks, communicator.size()));
  executor->seed = program->training().seed();
  executor->source = std::move(program);
  executor->target = std::move(device);
  executor->group = &communicator;
  HOCKET_RETURN_IF_ERROR(executor->load());
  return executor;
}

Status Executor::load() {
  const program::Role &r = role();
  HOCKET_RETURN_IF_ERROR(target->allocateArena(r.memory().arena_bytes()));
  HOCKET_RETURN_IF_ERROR(
      target->createQueues(std::max(1u, r.streams()), r.events()));
  HOCKET_RETURN_IF_ERROR(
      target->reserveScratch(r.memory().scratch_bytes_per_worker()));
  std::vector<hal::KernelId> kernels;
  HOCKET_RETURN_IF_ERROR(loadKernels(kernels));
  prepare(kernels);
  for (int i = 0; i < r.entries_size(); ++i)
    entries[r.entries(i).name()] = i;
  return okStatus();
}

Status Executor::loadKernels(std::vector<hal::KernelId> &kernels) {
  std::vector<hal::ModuleId> modules;
  for (const program::KernelModule &module : source->modules()) {
    std::vector<hal::ModuleVariant> variants;
    for (const auto &variant : module.variants())
      variants.push_back({variant.isa(), variant.format(), variant.image()});
    HOCKET_ASSIGN_OR_RETURN(hal::ModuleId id,
                            target->loadModule(module.name(), variants));
    modules.push_back(id);
  }
  for (const program::Kernel &kernel : source->kernels()) {
    auto id = target->findKernel(modules[kernel.module()], kernel.symbol());
    if (!id.ok())
      return id.status().withContext("kernel '" + kernel.name() + "'");
    kernels.push_back(*id);
  }
  return okStatus();
}

void Executor::prepare(const std::vector<hal::KernelId> &kernels) {
  PreparationScope scope{*source, role(), kernels};
  for (const program::Sequence &sequence : role().sequences()) {
    sequences.emplace_back();
    for (const program::Instruction &instruction : sequence.instructions())
      sequences.back().push_back(prepareCall(instruction, scope));
  }
}

Status Executor::run(const std::string &entry, uint64_t step,
                     HostChannel &host) {
  auto found = entries.find(entry);
  if (found == entries.end())
    return notFound("the program has no entry '" + entry + "'");
  for (const program::Entry::Run &run : role().entries(found->second).runs()) {
    RunContext context{*target,    *group, host, run.microbatch(),
                       run.slot(), step,   seed};
    HOCKET_RETURN_IF_ERROR(runSequence(run.sequence(), context));
  }
  return target->synchronize();
}

Status Executor::runSequence(uint32_t sequence, const RunContext &context) {
  auto &calls = sequences[sequence];
  for (size_t i = 0; i < calls.size(); ++i) {
    auto start = std::chrono::steady_clock::now();
    Status status = calls[i]->run(context);
    if (status.ok() && !times.empty()) {
      status = target->synchronize();
      std::chrono::duration<double> taken =
          std::chrono::steady_clock::now() - start;
      times[sequence][i].seconds += taken.count();
      ++times[sequence][i].runs;
    }
    if (status.ok())
      continue;
    const program::Sequence &s = role().sequences(int(sequence));
    const program::Instruction &instruction = s.instructions(int(i));
    return status.withContext(formatText(
        "sequence '%s', instruction %zu (%s%s%s)", s.name().c_str(), i,
        instruction.source().c_str(), instruction.source().empty() ? "" : ": ",
        instructionText(instruction, *source).c_str()));
  }
  return okStatus();
}

void Executor::startProfile() {
  times.clear();
  for (const auto &calls : sequences)
    times.emplace_back(calls.size());
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

uint64_t Executor::sliceBytes(const program::ParameterSlice &slice) const {
  if (slice.buffer() >= uint32_t(role().buffers_size()))
    return 0;
  program::DType dtype = role().buffers(int(slice.buffer())).dtype();
  return tensorBytes(slice.size(), dtype).value_or(0);
}

Status Executor::checkSlice(const program::ParameterSlice &slice,
                            uint64_t offset, uint64_t bytes,
                            hal::Range &range) const {
  uint64_t size = sliceBytes(slice);
  if (!rangeInside(offset, bytes, size))
    return invalidArgument(formatText(
        "a slice of parameter %u, %s, has %llu bytes, [%llu, +%llu) lie "
        "outside",
        slice.parameter(), slice.state().c_str(), (unsigned long long)size,
        (unsigned long long)offset, (unsigned long long)bytes));
  range = {role().buffers(int(slice.buffer())).offset() + offset, bytes};
  return okStatus();
}

Status Executor::readSlice(const program::ParameterSlice &slice,
                           uint64_t offset, void *to, uint64_t bytes) {
  hal::Range range;
  HOCKET_RETURN_IF_ERROR(checkSlice(slice, offset, bytes, range));
  HOCKET_RETURN_IF_ERROR(target->synchronize());
  HOCKET_RETURN_IF_ERROR(target->copyToHost(0, range, to));
  return target->synchronize(0);
}

Status Executor::writeSlice(const program::ParameterSlice &slice,
                            uint64_t offset, const void *from, uint64_t bytes) {
  hal::Range range;
  HOCKET_RETURN_IF_ERROR(checkSlice(slice, offset, bytes, range));
  HOCKET_RETURN_IF_ERROR(target->synchronize());
  HOCKET_RETURN_IF_ERROR(target->copyFromHost(0, from, range));
  return target->synchronize(0);
}
