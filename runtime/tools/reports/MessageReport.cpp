//===- MessageReport.cpp - What ranks send to one another -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/reports/MessageReport.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "runtime/program/DataType.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace hocket;
using nlohmann::ordered_json;
using program::Program;

namespace {

using Part = program::Transfer::Part;

/// A part of a transfer, where it stands.
struct PartPlace {
  InstructionPosition position;
  const Part *part;
  uint32_t group;
};

} // namespace

/// Calls `visit(position, instruction)` for all instructions of a role.
template <typename Visit>
static void forEachInstruction(const Program &program, uint32_t index,
                               Visit visit) {
  const program::Role &role = program.roles(int(index));
  for (int s = 0; s < role.sequences_size(); ++s)
    for (int i = 0; i < role.sequences(s).instructions_size(); ++i)
      visit(InstructionPosition{index, uint32_t(s), uint32_t(i)},
            role.sequences(s).instructions(i));
}

static std::vector<PartPlace> partsOf(const Program &program, uint32_t role) {
  std::vector<PartPlace> parts;
  forEachInstruction(
      program, role,
      [&](InstructionPosition at, const program::Instruction &instruction) {
        for (const Part &part : instruction.transfer().parts())
          parts.push_back({at, &part, instruction.transfer().group()});
      });
  return parts;
}

/// The op that last wrote a buffer before `at`, or that first reads it after.
static std::string opBeside(const Program &program, InstructionPosition at,
                            uint32_t buffer, bool writes) {
  std::string found;
  bool before = true;
  forEachInstruction(
      program, at.role,
      [&](InstructionPosition here, const program::Instruction &instruction) {
        bool isHere =
            here.sequence == at.sequence && here.instruction == at.instruction;
        before &= !isHere;
        if (isHere || before != writes || (!writes && !found.empty()))
          return;
        for (InstructionOperand operand : operandsOf(instruction, program))
          if (operand.buffer == buffer &&
              (operand.access == OperandAccess::Read) != writes)
            found = instruction.source();
      });
  return found;
}

/// The role of which `rank` is.
static uint32_t roleOfRank(const Program &program, uint32_t rank) {
  for (int r = 0; r < program.roles_size(); ++r) {
    const auto &ranks = program.roles(r).ranks();
    if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
      return uint32_t(r);
  }
  return 0;
}

static std::string bufferName(const Program &program, const PartPlace &place) {
  return program.roles(int(place.position.role))
      .buffers(int(place.part->buffer()))
      .name();
}

/// The other end: receives with the same tag, in the role of the peer.
static MessageEnd receivedOf(const Program &program, const MessageUse &use,
                             const PartPlace &sent, uint32_t role) {
  MessageEnd end;
  for (const PartPlace &place : partsOf(program, role)) {
    const Part &part = *place.part;
    if (part.send() || place.group != sent.group || part.tag() != use.tag ||
        part.relative() != use.around ||
        (!use.around && part.peer() != use.from))
      continue;
    if (end.places.empty()) {
      end.buffer = bufferName(program, place);
      end.op = opBeside(program, place.position, part.buffer(), false);
    }
    end.places.push_back(place.position);
  }
  return end;
}

static MessageUse useOf(const Program &program, const PartPlace &place) {
  const program::Role &role = program.roles(int(place.position.role));
  const program::Buffer &buffer = role.buffers(int(place.part->buffer()));
  const auto *members = membersOf(program, place.group, role.ranks(0));
  MessageUse use;
  use.group = program.groups(int(place.group)).name();
  use.ranks = members ? uint32_t(members->ranks_size()) : 0;
  use.tag = place.part->tag();
  use.around = place.part->relative();
  use.from =
      use.around
          ? 0
          : placeInGroup(program, place.group, role.ranks(0)).value_or(0);
  use.to = place.part->peer();
  use.dtype = dataTypeName(buffer.dtype());
  use.shape.assign(buffer.shape().begin(), buffer.shape().end());
  use.bytes = buffer.bytes();
  use.sent.buffer = buffer.name();
  use.sent.op = opBeside(program, place.position, place.part->buffer(), true);
  uint32_t peerRole = place.position.role;
  if (!use.around && members && use.to < use.ranks)
    peerRole = roleOfRank(program, members->ranks(int(use.to)));
  use.received = receivedOf(program, use, place, peerRole);
  return use;
}

std::vector<MessageUse> hocket::messageUses(const Program &program) {
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, bool>;
  std::map<Key, size_t> known;
  std::vector<MessageUse> uses;
  for (int r = 0; r < program.roles_size(); ++r) {
    std::vector<uint64_t> runs = runsInStep(program.roles(r));
    for (const PartPlace &place : partsOf(program, uint32_t(r))) {
      if (!place.part->send())
        continue;
      auto [entry, isNew] =
          known.try_emplace({uint32_t(r), place.group, place.part->tag(),
                             place.part->peer(), place.part->relative()},
                            uses.size());
      if (isNew)
        uses.push_back(useOf(program, place));
      MessageUse &use = uses[entry->second];
      use.perStep += runs[place.position.sequence];
      use.sent.places.push_back(place.position);
    }
  }
  return uses;
}

bool hocket::isAskedFor(const Program &program, const MessageUse &use,
                        const std::string &name) {
  return name == "send" || name == "receive" || name == use.group ||
         name == use.sent.buffer || name == use.received.buffer ||
         isPlaceOf(program, use.sent.places, name) ||
         isPlaceOf(program, use.received.places, name);
}

static ordered_json endJson(const Program &program, const MessageEnd &end) {
  return {{"buffer", end.buffer},
          {"op", end.op},
          {"places", placesJson(program, end.places)}};
}

ordered_json hocket::messageJson(const Program &program,
                                 const MessageUse &use) {
  return {{"group", use.group},
          {"ranks", use.ranks},
          {"around", use.around},
          {"from", use.from},
          {"to", use.to},
          {"tag", use.tag},
          {"dtype", use.dtype},
          {"shape", use.shape},
          {"bytes", use.bytes},
          {"per_step", use.perStep},
          {"sent", endJson(program, use.sent)},
          {"received", endJson(program, use.received)}};
}

/// "layers.2.layer (model.textproto:7:3)" of "model.textproto:7:3
/// layers.2.layer".
static std::string opText(const std::string &source) {
  size_t space = source.rfind(' ');
  if (space == std::string::npos)
    return source;
  return source.substr(space + 1) + " (" + source.substr(0, space) + ")";
}

/// "'residual' at role0/forward_0.send:0, made by OP".
static std::string messageEndText(const ordered_json &end, const char *use) {
  const ordered_json &places = end["places"];
  std::string op = end["op"];
  std::string text = "'" + end["buffer"].get<std::string>() + "'";
  if (!places.empty())
    text += " at " + places[0].get<std::string>();
  if (places.size() > 1)
    text += formatText(" and %zu more", places.size() - 1);
  return text + (op.empty() ? "" : std::string(", ") + use + " " + opText(op)) +
         "\n";
}

std::string hocket::messageText(const ordered_json &use) {
  std::string group = use["group"];
  auto to = use["to"].get<unsigned>();
  std::string who =
      use["around"].get<bool>()
          ? formatText("each rank of %s to the next%s", group.c_str(),
                       to == 1 ? "" : formatText(" but %u", to - 1).c_str())
          : formatText("%s %u to %s %u", group.c_str(),
                       use["from"].get<unsigned>(), group.c_str(), to);
  return "send from " + who + " (" + formatNoun(use["ranks"], "rank") + "), " +
         formatNoun(use["per_step"], "time") + " a step\n" + "  " +
         use["dtype"].get<std::string>() + " " +
         shapeText(use["shape"].get<std::vector<uint64_t>>()) + ", " +
         formatBytes(use["bytes"]) + " each\n  sent from " +
         messageEndText(use["sent"], "made by") + "  received into " +
         messageEndText(use["received"], "read by");
}
