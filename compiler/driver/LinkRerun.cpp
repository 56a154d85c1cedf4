//===- LinkRerun.cpp - Steps that have room for all rows ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/LinkRerun.h"

#include "runtime/program/Entries.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/program/ValueWriters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

using namespace hocket;
using namespace hocket::program;

/// Calls fn(number) for every buffer that an instruction names, in its field.
template <typename Fn>
static void forEachBuffer(Instruction &instruction, Fn fn) {
  auto field = [&](uint32_t number, auto set) { set(fn(number)); };
  auto list = [&](google::protobuf::RepeatedField<uint32_t> &numbers) {
    for (uint32_t &number : numbers)
      number = fn(number);
  };
  switch (instruction.kind_case()) {
  case Instruction::kLaunch:
    return list(*instruction.mutable_launch()->mutable_buffers());
  case Instruction::kLibrary:
    return list(*instruction.mutable_library()->mutable_buffers());
  case Instruction::kGemm: {
    Gemm &gemm = *instruction.mutable_gemm();
    field(gemm.a(), [&](uint32_t b) { gemm.set_a(b); });
    field(gemm.b(), [&](uint32_t b) { gemm.set_b(b); });
    field(gemm.d(), [&](uint32_t b) { gemm.set_d(b); });
    if (gemm.has_bias())
      field(gemm.bias(), [&](uint32_t b) { gemm.set_bias(b); });
    if (gemm.has_auxiliary())
      field(gemm.auxiliary(), [&](uint32_t b) { gemm.set_auxiliary(b); });
    if (gemm.has_residual())
      field(gemm.residual(), [&](uint32_t b) { gemm.set_residual(b); });
    if (gemm.has_scale_a())
      field(gemm.scale_a(), [&](uint32_t b) { gemm.set_scale_a(b); });
    if (gemm.has_scale_b())
      field(gemm.scale_b(), [&](uint32_t b) { gemm.set_scale_b(b); });
    if (gemm.has_preactivation())
      field(gemm.preactivation(),
            [&](uint32_t b) { gemm.set_preactivation(b); });
    if (gemm.has_bias_gradient())
      field(gemm.bias_gradient(),
            [&](uint32_t b) { gemm.set_bias_gradient(b); });
    return;
  }
  case Instruction::kCopy: {
    Copy &copy = *instruction.mutable_copy();
    field(copy.from(), [&](uint32_t b) { copy.set_from(b); });
    return field(copy.to(), [&](uint32_t b) { copy.set_to(b); });
  }
  case Instruction::kFill:
    return instruction.mutable_fill()->set_buffer(
        fn(instruction.fill().buffer()));
  case Instruction::kHost:
    return instruction.mutable_host()->set_buffer(
        fn(instruction.host().buffer()));
  case Instruction::kCollective: {
    Collective &call = *instruction.mutable_collective();
    field(call.from(), [&](uint32_t b) { call.set_from(b); });
    field(call.to(), [&](uint32_t b) { call.set_to(b); });
    for (Collective::Part &part : *call.mutable_others()) {
      field(part.from(), [&](uint32_t b) { part.set_from(b); });
      field(part.to(), [&](uint32_t b) { part.set_to(b); });
    }
    if (!call.has_rows())
      return;
    Collective::Rows &rows = *call.mutable_rows();
    field(rows.ranges(), [&](uint32_t b) { rows.set_ranges(b); });
    return field(rows.segments(), [&](uint32_t b) { rows.set_segments(b); });
  }
  case Instruction::kTransfer:
    for (Transfer::Part &part :
         *instruction.mutable_transfer()->mutable_parts())
      part.set_buffer(fn(part.buffer()));
    return;
  case Instruction::kRecord:
  case Instruction::kWait:
  case Instruction::KIND_NOT_SET:
    return;
  }
}

/// The scalars of an instruction.
static std::vector<Scalar *> scalarsOf(Instruction &instruction) {
  std::vector<Scalar *> scalars;
  auto add = [&](google::protobuf::RepeatedPtrField<Scalar> &list) {
    for (Scalar &scalar : list)
      scalars.push_back(&scalar);
  };
  if (instruction.has_launch())
    add(*instruction.mutable_launch()->mutable_scalars());
  if (instruction.has_library())
    add(*instruction.mutable_library()->mutable_scalars());
  if (instruction.has_host())
    for (Host::Shard &shard : *instruction.mutable_host()->mutable_shards())
      add(*shard.mutable_start());
  return scalars;
}

namespace {

/// What the numbers of `other` are in `program`.
class RerunLinker {
public:
  RerunLinker(Program &program, const Program &other)
      : program(program), other(other) {}

  Status link() {
    if (program.roles_size() != other.roles_size())
      return differs("have as many roles");
    linkKernels();
    linkGroups();
    for (int role = 0; role < program.roles_size(); ++role)
      HOCKET_RETURN_IF_ERROR(
          linkRole(*program.mutable_roles(role), other.roles(role)));
    for (auto &peak : *program.mutable_certificate()->mutable_peaks())
      for (const Role &role : program.roles())
        if (std::ranges::find(role.ranks(), peak.rank()) != role.ranks().end())
          peak.set_bytes(role.memory().arena_bytes());
    return okStatus();
  }

private:
  static Status differs(const std::string &what) {
    return internalError("what is run again and what is not should " + what);
  }

  /// Code that is the same is there once.
  void linkKernels() {
    std::vector<uint32_t> modules;
    for (const KernelModule &module : other.modules()) {
      auto same = std::ranges::find_if(
          program.modules(), [&](const KernelModule &known) {
            return known.SerializeAsString() == module.SerializeAsString();
          });
      modules.push_back(uint32_t(same - program.modules().begin()));
      if (same == program.modules().end())
        *program.add_modules() = module;
    }
    for (const Kernel &kernel : other.kernels()) {
      kernels.push_back(uint32_t(program.kernels_size()));
      Kernel &added = *program.add_kernels();
      added = kernel;
      added.set_module(modules[kernel.module()]);
    }
  }

  void linkGroups() {
    for (const Group &group : other.groups()) {
      auto same =
          std::ranges::find_if(program.groups(), [&](const Group &known) {
            return known.name() == group.name();
          });
      groups.push_back(uint32_t(same - program.groups().begin()));
      if (same == program.groups().end())
        *program.add_groups() = group;
    }
  }

  /// A reason counts from 1 through the texts.
  uint32_t reasonOf(uint32_t why) {
    if (why == 0)
      return 0;
    auto [known, isNew] = reasons.try_emplace(why);
    if (isNew) {
      const std::string &text = other.explanation().texts(int(why) - 1);
      auto &texts = *program.mutable_explanation()->mutable_texts();
      auto same = std::ranges::find(texts, text);
      known->second = uint32_t(same - texts.begin()) + 1;
      if (same == texts.end())
        *texts.Add() = text;
    }
    return known->second;
  }

  /// One role, `to` of which becomes what both do.
  Status linkRole(Role &to, const Role &from) {
    if (!std::ranges::equal(to.ranks(), from.ranks()))
      return differs("be of the same ranks");
    std::set<uint32_t> wanted = sequencesOf(from);
    std::map<uint64_t, uint64_t> positions = positionsOf(to, from, wanted);
    std::vector<uint32_t> buffers;
    HOCKET_RETURN_IF_ERROR(linkBuffers(to, from, positions, buffers));
    std::map<uint32_t, uint32_t> sequences;
    uint32_t events = to.events();
    for (uint32_t number : wanted) {
      sequences[number] = uint32_t(to.sequences_size());
      Sequence &added = *to.add_sequences();
      added = from.sequences(int(number));
      added.set_name(rerunEntryName(added.name()));
      for (Instruction &instruction : *added.mutable_instructions())
        linkInstruction(instruction, buffers, events);
    }
    for (const Entry &entry : from.entries()) {
      if (!isRunAgain(entry.name()))
        continue;
      Entry &added = *to.add_entries();
      added = entry;
      added.set_name(rerunEntryName(entry.name()));
      for (Entry::Run &run : *added.mutable_runs())
        run.set_sequence(sequences.at(run.sequence()));
    }
    to.set_streams(std::max(to.streams(), from.streams()));
    to.set_events(events + from.events());
    stateWriters(program, to);
    widenState(to);
    linkMemory(*to.mutable_memory(), from.memory());
    return okStatus();
  }

  static bool isRunAgain(const std::string &entry) {
    return isTrainEntry(entry) || entry == "eval_step";
  }

  static std::set<uint32_t> sequencesOf(const Role &role) {
    std::set<uint32_t> numbers;
    for (const Entry &entry : role.entries())
      if (isRunAgain(entry.name()))
        for (const Entry::Run &run : entry.runs())
          numbers.insert(run.sequence());
    return numbers;
  }

  /// Of each instruction of the wanted sequences, its place among all of `to`'s
  /// once they are there.
  static std::map<uint64_t, uint64_t>
  positionsOf(const Role &to, const Role &from,
              const std::set<uint32_t> &wanted) {
    uint64_t before = 0, next = 0;
    for (const Sequence &sequence : to.sequences())
      next += uint64_t(sequence.instructions_size());
    std::map<uint64_t, uint64_t> positions;
    for (int i = 0; i < from.sequences_size(); ++i) {
      auto count = uint64_t(from.sequences(i).instructions_size());
      for (uint64_t k = 0; wanted.contains(uint32_t(i)) && k < count; ++k)
        positions[before + k] = next++;
      before += count;
    }
    return positions;
  }

  /// Variables are the same; values of the step that what is wanted uses are
  /// added, in the same bytes.
  static Status linkBuffers(Role &to, const Role &from,
                            const std::map<uint64_t, uint64_t> &positions,
                            std::vector<uint32_t> &buffers) {
    std::map<std::string, uint32_t> variables;
    for (int i = 0; i < to.buffers_size(); ++i)
      if (to.buffers(i).persistent())
        variables[placeOf(to.buffers(i))] = uint32_t(i);
    size_t same = 0;
    for (const Buffer &buffer : from.buffers()) {
      if (!buffer.persistent()) {
        auto first = positions.find(buffer.first()),
             last = positions.find(buffer.last());
        buffers.push_back(uint32_t(to.buffers_size()));
        if (first == positions.end() || last == positions.end())
          continue; // Of what is not run again.
        Buffer &added = *to.add_buffers();
        added = buffer;
        added.set_first(first->second), added.set_last(last->second);
        if (buffer.within())
          added.set_within(buffers[buffer.within() - 1] + 1);
        continue;
      }
      auto known = variables.find(placeOf(buffer));
      if (known == variables.end())
        return differs("hold '" + buffer.name() + "' in the same place");
      buffers.push_back(known->second);
      ++same;
    }
    return same == variables.size() ? okStatus()
                                    : differs("hold the same variables");
  }

  /// What makes variables one: all but when they are used.
  static std::string placeOf(Buffer buffer) {
    buffer.clear_first(), buffer.clear_last();
    return buffer.SerializeAsString();
  }

  void linkInstruction(Instruction &instruction,
                       const std::vector<uint32_t> &buffers, uint32_t events) {
    forEachBuffer(instruction,
                  [&](uint32_t buffer) { return buffers[buffer]; });
    for (Scalar *scalar : scalarsOf(instruction))
      if (scalar->kind_case() == Scalar::kIndexInGroup)
        scalar->set_index_in_group(groups[scalar->index_in_group()]);
    instruction.set_why(reasonOf(instruction.why()));
    if (instruction.has_launch())
      instruction.mutable_launch()->set_kernel(
          kernels[instruction.launch().kernel()]);
    if (instruction.has_collective())
      instruction.mutable_collective()->set_group(
          groups[instruction.collective().group()]);
    if (instruction.has_transfer())
      instruction.mutable_transfer()->set_group(
          groups[instruction.transfer().group()]);
    if (instruction.has_record())
      instruction.mutable_record()->set_event(events +
                                              instruction.record().event());
    if (instruction.has_wait())
      instruction.mutable_wait()->set_event(events +
                                            instruction.wait().event());
  }

  /// Variables live through whatever uses them.
  void widenState(Role &role) const {
    uint64_t position = 0;
    for (const Sequence &sequence : role.sequences())
      for (const Instruction &instruction : sequence.instructions()) {
        for (const InstructionOperand &operand :
             operandsOf(instruction, program)) {
          Buffer &buffer = *role.mutable_buffers(int(operand.buffer));
          if (buffer.persistent())
            buffer.set_last(std::max(buffer.last(), position));
        }
        ++position;
      }
  }

  /// The peak is the greater of both, which live one after the other.
  static void linkMemory(MemoryPlan &to, const MemoryPlan &from) {
    auto live = [](const MemoryPlan &memory) {
      uint64_t bytes = 0;
      for (const MemoryPlan::Kind &kind : memory.at_peak())
        bytes += kind.bytes();
      return bytes;
    };
    if (live(from) > live(to))
      *to.mutable_at_peak() = from.at_peak();
    to.set_arena_bytes(std::max(to.arena_bytes(), from.arena_bytes()));
    to.set_lower_bound_bytes(
        std::max(to.lower_bound_bytes(), from.lower_bound_bytes()));
    to.set_scratch_bytes_per_worker(std::max(to.scratch_bytes_per_worker(),
                                             from.scratch_bytes_per_worker()));
  }

  Program &program;
  const Program &other;
  std::vector<uint32_t> kernels, groups;
  std::map<uint32_t, uint32_t> reasons;
};

} // namespace

Status hocket::linkRerun(Program &program, const Program &other) {
  return RerunLinker(program, other).link();
}
