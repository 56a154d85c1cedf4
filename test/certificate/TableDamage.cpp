//===- TableDamage.cpp - Break buffers, slices, groups and entries --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/certificate/Damage.h"

#include "runtime/program/InstructionOperands.h"
#include "runtime/program/Peak.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::test;
using program::Program;
using program::Role;
using Rule = ProgramRule;

static int drawRole(const Program &program, Random &random) {
  return int(draw(random, size_t(program.roles_size())));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Whether both live at one time, as the file has it.
static bool meetInTime(const program::Buffer &a, const program::Buffer &b) {
  return a.persistent() || b.persistent() ||
         (a.first() <= b.last() && b.first() <= a.last());
}

static bool isUsed(const Program &program, const Role &role, uint32_t buffer) {
  for (const auto &sequence : role.sequences())
    for (const auto &instruction : sequence.instructions())
      for (const auto &operand : operandsOf(instruction, program))
        if (operand.buffer == buffer)
          return true;
  return false;
}

/// Onto the first bytes of another that lives at the same time.
static std::optional<Damage> moveOnto(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  auto count = size_t(role.buffers_size());
  size_t a = draw(random, count), b = draw(random, count);
  program::Buffer &moved = *role.mutable_buffers(int(a));
  const program::Buffer &other = role.buffers(int(b));
  if (a == b || !meetInTime(moved, other) || moved.offset() == other.offset() ||
      !isUsed(program, role, uint32_t(a)) ||
      !isUsed(program, role, uint32_t(b)) || moved.slots() > 1 ||
      moved.bytes() > other.bytes())
    return std::nullopt;
  moved.set_offset(other.offset());
  return Damage{"moved onto '" + other.name() + "'",
                {Rule::Lifetimes},
                roleText(program, r)};
}

static std::optional<Damage> moveOutside(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  auto &buffer =
      *role.mutable_buffers(int(draw(random, size_t(role.buffers_size()))));
  buffer.set_offset(role.memory().arena_bytes());
  return Damage{"moved outside", {Rule::Buffers}, roleText(program, r)};
}

static std::optional<Damage> misalign(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  auto &buffer =
      *role.mutable_buffers(int(draw(random, size_t(role.buffers_size()))));
  buffer.set_offset(buffer.offset() + 4);
  return Damage{"misaligned", {Rule::Buffers}, roleText(program, r)};
}

static std::optional<Damage> resize(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  auto &buffer =
      *role.mutable_buffers(int(draw(random, size_t(role.buffers_size()))));
  buffer.set_bytes(buffer.bytes() - 1);
  return Damage{"too small", {Rule::Buffers}, roleText(program, r)};
}

/// Out of the frames that it stands in.
static std::optional<Damage> leaveFrames(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  std::vector<program::Buffer *> inside;
  for (program::Buffer &buffer : *role.mutable_buffers())
    if (buffer.within())
      inside.push_back(&buffer);
  if (inside.empty())
    return std::nullopt;
  program::Buffer &moved = *inside[draw(random, inside.size())];
  const program::Buffer &frames = role.buffers(int(moved.within() - 1));
  if (frames.offset() == 0)
    return std::nullopt;
  moved.set_offset(0);
  return Damage{"out of its frames", {Rule::Buffers}, roleText(program, r)};
}

/// Fewer copies than microbatches that are kept at once.
static std::optional<Damage> shrinkRing(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  std::vector<program::Buffer *> rings;
  for (program::Buffer &buffer : *role.mutable_buffers())
    if (buffer.by_microbatch() && buffer.kind() == "activations")
      rings.push_back(&buffer);
  if (rings.empty())
    return std::nullopt;
  program::Buffer &ring = *rings[draw(random, rings.size())];
  ring.set_slots(ring.slots() - 1);
  // Else the peak is what is found.
  for (auto &kind : *role.mutable_memory()->mutable_at_peak())
    kind.set_bytes(peakOf(role).byKind[kind.name()]);
  return Damage{"a copy too few", {Rule::ReadsWritten}, roleText(program, r)};
}

/// Ends before its last use.
static std::optional<Damage> shorten(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  auto index = uint32_t(draw(random, size_t(role.buffers_size())));
  uint64_t position = 0, last = 0;
  for (const auto &sequence : role.sequences())
    for (const auto &instruction : sequence.instructions()) {
      for (const auto &operand : operandsOf(instruction, program))
        last = operand.buffer == index ? position : last;
      ++position;
    }
  program::Buffer &buffer = *role.mutable_buffers(int(index));
  if (buffer.persistent() || last <= buffer.first())
    return std::nullopt;
  buffer.set_last(last - 1);
  return Damage{
      "ends before its last use", {Rule::Lifetimes}, roleText(program, r)};
}

static std::optional<Damage> retype(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  auto &buffer =
      *role.mutable_buffers(int(draw(random, size_t(role.buffers_size()))));
  if (buffer.dtype() != program::F32)
    return std::nullopt;
  buffer.set_dtype(program::F64);
  return Damage{
      "wider type in the same bytes", {Rule::Buffers}, roleText(program, r)};
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

static program::ParameterSlice *drawSlice(Program &program, Random &random,
                                          int &role) {
  role = drawRole(program, random);
  auto &slices = *program.mutable_roles(role)->mutable_slices();
  return slices.empty() ? nullptr
                        : &slices[int(draw(random, size_t(slices.size())))];
}

/// A dim of a slice.
static program::Scalar *drawStart(program::ParameterSlice *slice,
                                  Random &random) {
  if (!slice || slice->start().empty())
    return nullptr;
  return slice->mutable_start(int(draw(random, size_t(slice->start_size()))));
}

static void shift(program::Scalar &start) {
  if (start.has_constant())
    start.set_constant(start.constant() + 1);
  else
    start.set_addend(start.addend() + 1);
}

static std::optional<Damage> shiftSlice(Program &program, Random &random) {
  int role = 0;
  program::Scalar *start = drawStart(drawSlice(program, random, role), random);
  if (!start)
    return std::nullopt;
  shift(*start);
  return Damage{"shifted by one", {Rule::Cover, Rule::Replicas}, ""};
}

static std::optional<Damage> stretchStart(Program &program, Random &random) {
  int role = 0;
  program::Scalar *start = drawStart(drawSlice(program, random, role), random);
  if (!start || !start->has_index_in_group() || start->multiplier() < 2)
    return std::nullopt;
  start->set_multiplier(start->multiplier() - 1);
  return Damage{"starts too near", {Rule::Cover, Rule::Replicas}, ""};
}

/// One rank's alone.
static std::optional<Damage> shiftOneRank(Program &program, Random &random) {
  uint32_t ranks = 0;
  for (const Role &role : program.roles())
    ranks += uint32_t(role.ranks_size());
  if (ranks < 2)
    return std::nullopt;
  int role = splitRank(program, uint32_t(draw(random, ranks)));
  auto &slices = *program.mutable_roles(role)->mutable_slices();
  program::ParameterSlice &slice =
      slices[int(draw(random, size_t(slices.size())))];
  program::Scalar *start = drawStart(&slice, random);
  if (!start)
    return std::nullopt;
  shift(*start);
  return Damage{"shifted on one rank", {Rule::Cover, Rule::Replicas}, ""};
}

static std::optional<Damage> shrinkSlice(Program &program, Random &random) {
  int role = 0;
  program::ParameterSlice *slice = drawSlice(program, random, role);
  if (!slice || slice->size().empty() || slice->size(0) < 2)
    return std::nullopt;
  // The last slice may be padding at its end; there one row less does no harm.
  const program::Parameter &parameter =
      program.parameters(int(slice->parameter()));
  if (slice->start(0).has_index_in_group() &&
      parameter.shape(0) % slice->size(0) != 0)
    return std::nullopt;
  slice->set_size(0, slice->size(0) - 1);
  return Damage{"a row short", {Rule::Cover, Rule::Replicas}, ""};
}

static std::optional<Damage> dropSlice(Program &program, Random &random) {
  int r = drawRole(program, random);
  auto &slices = *program.mutable_roles(r)->mutable_slices();
  if (slices.empty())
    return std::nullopt;
  slices.DeleteSubrange(int(draw(random, size_t(slices.size()))), 1);
  return Damage{"slice dropped", {Rule::Cover, Rule::Replicas}, ""};
}

static std::optional<Damage> doubleSlice(Program &program, Random &random) {
  int role = 0;
  program::ParameterSlice *slice = drawSlice(program, random, role);
  if (!slice)
    return std::nullopt;
  program::ParameterSlice copy = *slice;
  *program.mutable_roles(role)->add_slices() = copy;
  return Damage{"slice doubled", {Rule::Slices}, roleText(program, role)};
}

static std::optional<Damage> dropReplicas(Program &program, Random &random) {
  int role = 0;
  program::ParameterSlice *slice = drawSlice(program, random, role);
  if (!slice || slice->replicas().empty())
    return std::nullopt;
  uint32_t group = slice->replicas(0);
  if (program.groups(int(group)).members(0).ranks_size() < 2)
    return std::nullopt;
  slice->mutable_replicas()->erase(slice->mutable_replicas()->begin());
  return Damage{"replicas that are not said", {Rule::Replicas}, ""};
}

//===----------------------------------------------------------------------===//
// Groups, entries, what is stated
//===----------------------------------------------------------------------===//

static std::optional<Damage> swapMembers(Program &program, Random &random) {
  if (program.groups().empty())
    return std::nullopt;
  auto &group =
      *program.mutable_groups(int(draw(random, size_t(program.groups_size()))));
  auto &ranks = *group.mutable_members(0)->mutable_ranks();
  if (ranks.size() < 2)
    return std::nullopt;
  ranks.SwapElements(0, ranks.size() - 1);
  return Damage{
      "members in another order", {Rule::GroupNames}, "'" + group.name() + "'"};
}

static std::optional<Damage> swapBetweenLists(Program &program,
                                              Random &random) {
  if (program.groups().empty())
    return std::nullopt;
  auto &group =
      *program.mutable_groups(int(draw(random, size_t(program.groups_size()))));
  if (group.members_size() < 2 || group.members(0).ranks_size() < 2)
    return std::nullopt;
  uint32_t a = group.members(0).ranks(0), b = group.members(1).ranks(0);
  group.mutable_members(0)->set_ranks(0, b);
  group.mutable_members(1)->set_ranks(0, a);
  return Damage{"members of two lists swapped",
                {Rule::GroupNames},
                "'" + group.name() + "'"};
}

static std::optional<Damage> doubleMember(Program &program, Random &random) {
  if (program.groups().empty())
    return std::nullopt;
  auto &group =
      *program.mutable_groups(int(draw(random, size_t(program.groups_size()))));
  auto &members = *group.mutable_members(0);
  if (members.ranks_size() < 2)
    return std::nullopt;
  members.set_ranks(0, members.ranks(1));
  return Damage{
      "a rank twice in a group", {Rule::Groups}, "'" + group.name() + "'"};
}

static std::optional<Damage> rankTwice(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  if (program.roles_size() == 1 && role.ranks_size() == 1)
    return std::nullopt;
  role.add_ranks(program.roles(drawRole(program, random)).ranks(0));
  return Damage{"a rank with two roles", {Rule::Ranks}, ""};
}

static std::optional<Damage> changePeak(Program &program, Random &random) {
  auto &peaks = *program.mutable_certificate()->mutable_peaks();
  auto &peak = peaks[int(draw(random, size_t(peaks.size())))];
  std::string place = "rank " + std::to_string(peak.rank());
  switch (draw(random, 3)) {
  case 0:
    peak.set_bytes(peak.bytes() - 256);
    break;
  case 1:
    peak.set_memory("disk");
    break;
  default: {
    auto copy = peak;
    *peaks.Add() = copy;
  }
  }
  return Damage{"certified peak", {Rule::Peak}, place};
}

static std::optional<Damage> changeKind(Program &program, Random &random) {
  int r = drawRole(program, random);
  auto &kinds = *program.mutable_roles(r)->mutable_memory()->mutable_at_peak();
  int at = int(draw(random, size_t(kinds.size())));
  auto &kind = kinds[at];
  if (kind.bytes() == 0)
    return std::nullopt;
  if (draw(random, 2))
    kind.set_bytes(kind.bytes() - 1);
  else
    kinds.DeleteSubrange(at, 1);
  return Damage{"bytes at the peak", {Rule::Peak}, roleText(program, r)};
}

static std::optional<Damage> enlargeArena(Program &program, Random &random) {
  int r = drawRole(program, random);
  program::MemoryPlan &memory = *program.mutable_roles(r)->mutable_memory();
  memory.set_arena_bytes(memory.arena_bytes() + 8192);
  return Damage{
      "arena larger than the buffers", {Rule::Peak}, roleText(program, r)};
}

static std::optional<Damage> changeRun(Program &program, Random &random) {
  int r = drawRole(program, random);
  Role &role = *program.mutable_roles(r);
  auto &entry =
      *role.mutable_entries(int(draw(random, size_t(role.entries_size()))));
  auto &run = *entry.mutable_runs(int(draw(random, size_t(entry.runs_size()))));
  if (draw(random, 2))
    run.set_microbatch(uint32_t(program.training().microbatches()));
  else
    run.set_sequence(uint32_t(role.sequences_size()));
  return Damage{
      "a run of what is not there", {Rule::Entries}, roleText(program, r)};
}

static std::optional<Damage> changeGemm(Program &program, Random &random) {
  auto spot = drawSpot(program, random,
                       [](const Program &, const program::Instruction &i) {
                         return i.has_gemm();
                       });
  if (!spot)
    return std::nullopt;
  auto *gemm = spot->in(program).mutable_gemm();
  gemm->set_k(2 * gemm->k() + 64);
  return Damage{"a GEMM larger than its operands",
                {Rule::Operands},
                roleText(program, spot->role)};
}

static std::optional<Damage> unknownBuffer(Program &program, Random &random) {
  auto spot = drawSpot(program, random,
                       [](const Program &, const program::Instruction &i) {
                         return i.has_launch() && i.launch().buffers_size() > 0;
                       });
  if (!spot)
    return std::nullopt;
  spot->in(program).mutable_launch()->set_buffers(0, 1u << 20);
  return Damage{"a buffer that does not exist",
                {Rule::Names},
                roleText(program, spot->role)};
}

std::span<const DamageKind> hocket::test::tableDamages() {
  static constexpr DamageKind kinds[] = {
      {"buffer moved onto another", moveOnto},
      {"buffer moved outside", moveOutside},
      {"buffer misaligned", misalign},
      {"buffer out of its frames", leaveFrames},
      {"ring too small", shrinkRing},
      {"buffer too small", resize},
      {"lifetime shortened", shorten},
      {"buffer of another type", retype},
      {"slice shifted", shiftSlice},
      {"slices pressed together", stretchStart},
      {"slice shifted on one rank", shiftOneRank},
      {"slice shrunk", shrinkSlice},
      {"slice dropped", dropSlice},
      {"slice doubled", doubleSlice},
      {"replicas dropped", dropReplicas},
      {"members swapped", swapMembers},
      {"lists mixed", swapBetweenLists},
      {"member doubled", doubleMember},
      {"rank with two roles", rankTwice},
      {"peak changed", changePeak},
      {"kind of memory changed", changeKind},
      {"arena enlarged", enlargeArena},
      {"run changed", changeRun},
      {"GEMM enlarged", changeGemm},
      {"unknown buffer", unknownBuffer},
  };
  return kinds;
}
