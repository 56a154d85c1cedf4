//===- CollectiveReport.cpp - What ranks exchange, and why ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/reports/CollectiveReport.h"

#include "base/Format.h"
#include "runtime/predict/InstructionCost.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace hocket;
using nlohmann::ordered_json;
using program::Program;

std::string hocket::explanationText(const Program &program, uint32_t index) {
  if (index == 0 || index > uint32_t(program.explanation().texts_size()))
    return "";
  return program.explanation().texts(int(index - 1));
}

std::string hocket::nameOfAnyLayer(const std::string &name) {
  std::string result;
  for (size_t at = 0; at <= name.size();) {
    size_t end = std::min(name.find('.', at), name.size());
    std::string part = name.substr(at, end - at);
    bool number = !part.empty() &&
                  part.find_first_not_of("0123456789") == std::string::npos;
    result += (at ? "." : "") + (number ? "*" : part);
    at = end + 1;
  }
  return result;
}

std::string hocket::positionText(const Program &program,
                                 InstructionPosition place) {
  const program::Role &role = program.roles(int(place.role));
  return formatText("%s/%s:%u", role.name().c_str(),
                    role.sequences(int(place.sequence)).name().c_str(),
                    place.instruction);
}

bool hocket::isPlaceOf(const Program &program,
                       const std::vector<InstructionPosition> &places,
                       const std::string &name) {
  return std::any_of(places.begin(), places.end(),
                     [&](InstructionPosition place) {
                       std::string text = positionText(program, place);
                       return text == name || text.ends_with("/" + name);
                     });
}

ordered_json
hocket::placesJson(const Program &program,
                   const std::vector<InstructionPosition> &places) {
  ordered_json list = ordered_json::array();
  for (InstructionPosition place : places)
    list.push_back(positionText(program, place));
  return list;
}

std::vector<uint64_t> hocket::runsInStep(const program::Role &role) {
  std::vector<uint64_t> runs(size_t(role.sequences_size()));
  for (const auto &entry : role.entries())
    if (entry.name() == "train_step")
      for (const auto &run : entry.runs())
        ++runs[run.sequence()];
  return runs;
}

/// What the parts of a bucket are called, in their order.
static std::vector<std::string> tensorsOf(const program::Collective &call,
                                          const program::Role &role) {
  std::vector<uint32_t> buffers = {call.from()};
  for (const auto &part : call.others())
    buffers.push_back(part.from());
  std::vector<std::string> names;
  for (uint32_t buffer : buffers) {
    std::string name = nameOfAnyLayer(role.buffers(int(buffer)).name());
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  return names;
}

static CollectiveUse useOf(const program::Instruction &instruction,
                           const program::Role &role, const Program &program) {
  const program::Collective &call = instruction.collective();
  const auto *members = membersOf(program, call.group(), role.ranks(0));
  CollectiveUse use;
  use.op = call.op();
  use.group = program.groups(int(call.group())).name();
  use.ranks = members ? uint32_t(members->ranks_size()) : 0;
  use.why = instruction.why();
  use.fromBytes = bufferBytes(role, call.from());
  use.toBytes = bufferBytes(role, call.to());
  for (const auto &part : call.others()) {
    use.fromBytes += bufferBytes(role, part.from());
    use.toBytes += bufferBytes(role, part.to());
  }
  use.parts += uint32_t(call.others_size());
  if (call.others_size() > 0)
    use.tensors = tensorsOf(call, role);
  use.sentBytes = workOf(instruction, role, program).sentBytes;
  return use;
}

std::vector<CollectiveUse> hocket::collectiveUses(const Program &program) {
  using Key = std::tuple<std::string, std::string, uint32_t, uint32_t, uint64_t,
                         uint64_t>;
  std::map<Key, size_t> known;
  std::vector<CollectiveUse> uses;
  for (int r = 0; r < program.roles_size(); ++r) {
    const program::Role &role = program.roles(r);
    std::vector<uint64_t> runs = runsInStep(role);
    for (int s = 0; s < role.sequences_size(); ++s)
      for (int i = 0; i < role.sequences(s).instructions_size(); ++i) {
        const auto &instruction = role.sequences(s).instructions(i);
        if (!instruction.has_collective())
          continue;
        CollectiveUse use = useOf(instruction, role, program);
        auto [entry, isNew] = known.try_emplace(
            {use.op, use.group, use.ranks, use.why, use.fromBytes, use.toBytes},
            uses.size());
        if (isNew)
          uses.push_back(use);
        CollectiveUse &all = uses[entry->second];
        all.perStep += runs[size_t(s)];
        all.places.push_back({uint32_t(r), uint32_t(s), uint32_t(i)});
      }
  }
  return uses;
}

ordered_json hocket::collectivesJson(const Program &program) {
  ordered_json list = ordered_json::array();
  for (const CollectiveUse &use : collectiveUses(program)) {
    const auto &first = use.places.front();
    list.push_back({{"op", use.op},
                    {"group", use.group},
                    {"ranks", use.ranks},
                    {"instructions", use.places.size()},
                    {"per_step", use.perStep},
                    {"from_bytes", use.fromBytes},
                    {"to_bytes", use.toBytes},
                    {"sent_bytes", use.sentBytes},
                    {"pieces", use.parts},
                    {"tensors", use.tensors},
                    {"first", positionText(program, first)},
                    {"source", program.roles(int(first.role))
                                   .sequences(int(first.sequence))
                                   .instructions(int(first.instruction))
                                   .source()},
                    {"why", explanationText(program, use.why)}});
  }
  return list;
}
