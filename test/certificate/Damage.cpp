//===- Damage.cpp - Tools to make programs unsound ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/certificate/Damage.h"

#include "runtime/program/DataType.h"

#include <algorithm>
#include <vector>

using namespace hocket;
using namespace hocket::test;

std::optional<Spot> hocket::test::drawSpot(
    const program::Program &program, Random &random,
    bool (*wanted)(const program::Program &, const program::Instruction &)) {
  std::vector<Spot> spots;
  for (int r = 0; r < program.roles_size(); ++r) {
    std::set<int> run;
    for (const program::Entry &entry : program.roles(r).entries())
      for (const auto &of : entry.runs())
        run.insert(int(of.sequence()));
    for (int s : run) {
      const program::Sequence &sequence = program.roles(r).sequences(s);
      for (int i = 0; i < sequence.instructions_size(); ++i)
        if (wanted(program, sequence.instructions(i)))
          spots.push_back({r, s, i});
    }
  }
  if (spots.empty())
    return std::nullopt;
  return spots[draw(random, spots.size())];
}

int hocket::test::splitRank(program::Program &program, uint32_t rank) {
  for (int r = 0; r < program.roles_size(); ++r) {
    auto &ranks = *program.mutable_roles(r)->mutable_ranks();
    auto found = std::find(ranks.begin(), ranks.end(), rank);
    if (found == ranks.end())
      continue;
    if (ranks.size() == 1)
      return r;
    ranks.erase(found);
    program::Role copy = program.roles(r);
    copy.clear_ranks();
    copy.add_ranks(rank);
    *program.add_roles() = std::move(copy);
    return program.roles_size() - 1;
  }
  return 0;
}

void hocket::test::neutralize(program::Program &program, const Spot &spot) {
  program::Role &role = *program.mutable_roles(spot.role);
  program::Instruction &instruction = spot.in(program);
  instruction.mutable_record()->set_event(role.events());
  role.set_events(role.events() + 1);
}

uint32_t hocket::test::addBuffer(program::Program &program, int index,
                                 program::DType dtype, uint64_t elements) {
  program::Role &role = *program.mutable_roles(index);
  program::MemoryPlan &memory = *role.mutable_memory();
  program::Buffer *buffer = role.add_buffers();
  buffer->set_name("damage");
  buffer->set_kind("damage " + std::to_string(role.buffers_size()));
  buffer->set_dtype(dtype);
  buffer->add_shape(elements);
  buffer->set_bytes(elements * dataTypeBytes(dtype));
  buffer->set_offset(memory.arena_bytes());
  buffer->set_persistent(true);
  memory.set_arena_bytes(memory.arena_bytes() +
                         (buffer->bytes() + 4095) / 4096 * 4096);
  auto *kind = memory.add_at_peak();
  kind->set_name(buffer->kind());
  kind->set_bytes(buffer->bytes());
  for (auto &peak : *program.mutable_certificate()->mutable_peaks())
    if (std::find(role.ranks().begin(), role.ranks().end(), peak.rank()) !=
        role.ranks().end())
      peak.set_bytes(memory.arena_bytes());
  return uint32_t(role.buffers_size() - 1);
}
