//===- CommunicationDamage.cpp - Break transfers, collectives, events -----===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/certificate/Damage.h"

#include "base/CheckedMath.h"
#include "test/certificate/StreamOracle.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

using namespace hocket;
using namespace hocket::test;
using program::Instruction;
using program::Program;
using Rule = ProgramRule;

static std::string rankText(uint32_t rank) {
  return "rank " + std::to_string(rank);
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

static bool isTransfer(const Program &, const Instruction &instruction) {
  return instruction.has_transfer();
}

/// A transfer of one role's, with the part that will be damaged.
struct PartSpot {
  Spot spot;
  int part = 0;
};

static std::optional<PartSpot> drawPart(const Program &program,
                                        Random &random) {
  auto spot = drawSpot(program, random, isTransfer);
  if (!spot)
    return std::nullopt;
  const auto &transfer = program.roles(spot->role)
                             .sequences(spot->sequence)
                             .instructions(spot->instruction)
                             .transfer();
  return PartSpot{*spot, int(draw(random, size_t(transfer.parts_size())))};
}

static std::optional<Damage> dropPart(Program &program, Random &random,
                                      bool send) {
  auto at = drawPart(program, random);
  if (!at)
    return std::nullopt;
  auto &transfer = *at->spot.in(program).mutable_transfer();
  if (transfer.parts(at->part).send() != send)
    return std::nullopt;
  if (transfer.parts_size() == 1)
    neutralize(program, at->spot);
  else
    transfer.mutable_parts()->DeleteSubrange(at->part, 1);
  return Damage{"dropped", {Rule::Matched}, "rank "};
}

static std::optional<Damage> dropSend(Program &program, Random &random) {
  return dropPart(program, random, true);
}

static std::optional<Damage> dropReceive(Program &program, Random &random) {
  return dropPart(program, random, false);
}

static std::optional<Damage> doublePart(Program &program, Random &random) {
  auto at = drawPart(program, random);
  if (!at)
    return std::nullopt;
  auto &transfer = *at->spot.in(program).mutable_transfer();
  auto part = transfer.parts(at->part);
  if (!part.send())
    return std::nullopt; // One buffer is received once: another kind.
  *transfer.add_parts() = part;
  return Damage{
      "sent twice", {Rule::Matched}, roleText(program, at->spot.role)};
}

static std::optional<Damage> receiveTwice(Program &program, Random &random) {
  auto at = drawPart(program, random);
  if (!at)
    return std::nullopt;
  auto &transfer = *at->spot.in(program).mutable_transfer();
  auto part = transfer.parts(at->part);
  if (part.send())
    return std::nullopt;
  *transfer.add_parts() = part;
  return Damage{"received twice",
                {Rule::TransferParts},
                roleText(program, at->spot.role)};
}

static std::optional<Damage> changeTag(Program &program, Random &random) {
  auto at = drawPart(program, random);
  if (!at)
    return std::nullopt;
  auto *part = at->spot.in(program).mutable_transfer()->mutable_parts(at->part);
  part->set_tag(part->tag() + 1000);
  return Damage{"tag", {Rule::Matched}, roleText(program, at->spot.role)};
}

/// Another place of the group; who now names the rank's own has no other end.
static std::optional<Damage> changePeer(Program &program, Random &random) {
  auto at = drawPart(program, random);
  if (!at)
    return std::nullopt;
  auto &transfer = *at->spot.in(program).mutable_transfer();
  auto *part = transfer.mutable_parts(at->part);
  auto size =
      uint32_t(program.groups(int(transfer.group())).members(0).ranks_size());
  part->set_peer((part->peer() + 1 + uint32_t(draw(random, size - 1))) % size);
  return Damage{"peer", {Rule::Matched}, ""};
}

static std::optional<Damage> peerOutside(Program &program, Random &random) {
  auto at = drawPart(program, random);
  if (!at)
    return std::nullopt;
  at->spot.in(program).mutable_transfer()->mutable_parts(at->part)->set_peer(
      999);
  return Damage{"peer outside the group",
                {Rule::TransferParts},
                roleText(program, at->spot.role)};
}

static std::optional<Damage> changeMessage(Program &program, Random &random,
                                           bool type) {
  auto at = drawPart(program, random);
  if (!at)
    return std::nullopt;
  uint32_t old = at->spot.in(program).transfer().parts(at->part).buffer();
  const auto &buffer = program.roles(at->spot.role).buffers(int(old));
  uint64_t elements = *checkedProduct(buffer.shape());
  program::DType other =
      buffer.dtype() == program::F32 ? program::I32 : program::F32;
  uint32_t fresh = type ? addBuffer(program, at->spot.role, other, elements)
                        : addBuffer(program, at->spot.role, buffer.dtype(),
                                    elements + 1 + draw(random, 100));
  at->spot.in(program).mutable_transfer()->mutable_parts(at->part)->set_buffer(
      fresh);
  return Damage{type ? "type of a message" : "size of a message",
                {Rule::MatchedSize},
                roleText(program, at->spot.role)};
}

static std::optional<Damage> changeMessageSize(Program &program,
                                               Random &random) {
  return changeMessage(program, random, false);
}

static std::optional<Damage> changeMessageType(Program &program,
                                               Random &random) {
  return changeMessage(program, random, true);
}

/// A message to or from another stage and another rank. (A ring's are parts of
/// a fragment, of which all its ranks do as many; what a rank sends itself is
/// one transfer, which another end does not miss.)
static bool crossesRanks(const Instruction &instruction) {
  if (!instruction.has_transfer() || instruction.transfer().parts(0).relative())
    return false;
  bool sends = false, receives = false;
  for (const auto &part : instruction.transfer().parts())
    (part.send() ? sends : receives) = true;
  return sends != receives;
}

/// Runs of an entry that consist of such a message, by index.
static std::vector<int> transferRuns(const program::Role &role,
                                     const program::Entry &entry) {
  std::vector<int> runs;
  for (int i = 0; i < entry.runs_size(); ++i) {
    const auto &list = role.sequences(int(entry.runs(i).sequence()));
    if (std::any_of(list.instructions().begin(), list.instructions().end(),
                    crossesRanks))
      runs.push_back(i);
  }
  return runs;
}

static std::optional<Damage> changeRuns(Program &program, Random &random,
                                        bool twice) {
  int r = int(draw(random, size_t(program.roles_size())));
  program::Role &role = *program.mutable_roles(r);
  program::Entry &entry =
      *role.mutable_entries(int(draw(random, size_t(role.entries_size()))));
  std::vector<int> runs = transferRuns(role, entry);
  if (runs.empty())
    return std::nullopt;
  int at = runs[draw(random, runs.size())];
  if (twice) {
    *entry.add_runs() = entry.runs(at);
    for (int i = entry.runs_size() - 1; i > at + 1; --i)
      entry.mutable_runs()->SwapElements(i, i - 1);
  } else {
    entry.mutable_runs()->DeleteSubrange(at, 1);
  }
  return Damage{
      twice ? "transfer run twice" : "transfer not run", {Rule::Matched}, ""};
}

static std::optional<Damage> doubleRun(Program &program, Random &random) {
  return changeRuns(program, random, true);
}

static std::optional<Damage> dropRun(Program &program, Random &random) {
  return changeRuns(program, random, false);
}

/// One rank of the pipeline calls two microbatches by each other's numbers.
static std::optional<Damage> exchangeMicrobatches(Program &program,
                                                  Random &random) {
  auto count = uint32_t(program.training().microbatches());
  int r = int(draw(random, size_t(program.roles_size())));
  program::Role &role = *program.mutable_roles(r);
  program::Entry &entry = *role.mutable_entries(0);
  uint32_t a = uint32_t(random() % count), b = uint32_t(random() % count);
  if (a == b || entry.name() != "train_step" ||
      transferRuns(role, entry).empty())
    return std::nullopt;
  for (program::Entry::Run &run : *entry.mutable_runs())
    if (run.microbatch() == a || run.microbatch() == b)
      run.set_microbatch(a + b - run.microbatch());
  // Copies of its own may be too few for that order.
  return Damage{"microbatches exchanged",
                {Rule::MatchedMicrobatch, Rule::ReadsWritten, Rule::Race},
                ""};
}

/// Every other message of a channel goes out on a stream of its own.
static std::optional<Damage> sendOnTwoStreams(Program &program,
                                              Random &random) {
  int r = int(draw(random, size_t(program.roles_size())));
  program::Role &role = *program.mutable_roles(r);
  program::Entry &entry = *role.mutable_entries(0);
  std::map<uint32_t, std::vector<int>> runs;
  for (int at : transferRuns(role, entry)) {
    uint32_t s = entry.runs(at).sequence();
    const program::Sequence &sequence = role.sequences(int(s));
    if (sequence.instructions_size() == 1 &&
        sequence.instructions(0).transfer().parts(0).send())
      runs[s].push_back(at);
  }
  for (const auto &[s, places] : runs) {
    if (places.size() < 2)
      continue;
    program::Sequence &copy = *role.add_sequences();
    copy = role.sequences(int(s));
    copy.set_name(copy.name() + "_again");
    copy.mutable_instructions(0)->set_stream(role.streams());
    role.set_streams(role.streams() + 1);
    for (size_t i = 1; i < places.size(); i += 2)
      entry.mutable_runs(places[i])->set_sequence(
          uint32_t(role.sequences_size() - 1));
    return Damage{
        "messages on two streams", {Rule::MatchedOrder}, roleText(program, r)};
  }
  return std::nullopt;
}

/// Waits on stream 0 for the first gradient, before the first activation has
/// gone out that it depends on.
static std::optional<Damage> receiveTooEarly(Program &program, Random &) {
  program::Role &role = *program.mutable_roles(0);
  for (program::Entry &entry : *role.mutable_entries()) {
    std::vector<int> runs = transferRuns(role, entry);
    for (int at : runs) {
      auto &sequence = *role.mutable_sequences(int(entry.runs(at).sequence()));
      if (at == runs.front() || sequence.instructions_size() != 1 ||
          sequence.instructions(0).transfer().parts(0).send())
        continue;
      sequence.mutable_instructions(0)->set_stream(0);
      for (int i = at; i > runs.front(); --i)
        entry.mutable_runs()->SwapElements(i, i - 1);
      return Damage{"gradient awaited before the activation is sent",
                    {Rule::Progress},
                    "rank "};
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static bool isShared(const Program &program, const Instruction &instruction) {
  return instruction.has_collective() &&
         program.groups(int(instruction.collective().group()))
                 .members(0)
                 .ranks_size() > 1;
}

/// A collective of one rank alone, which shares it with others.
struct LoneCollective {
  Spot spot;
  uint32_t rank = 0;
};

static std::optional<LoneCollective> drawCollective(Program &program,
                                                    Random &random) {
  auto spot = drawSpot(program, random, isShared);
  if (!spot)
    return std::nullopt;
  const program::Role &role = program.roles(spot->role);
  uint32_t rank = role.ranks(int(draw(random, size_t(role.ranks_size()))));
  spot->role = splitRank(program, rank);
  return LoneCollective{*spot, rank};
}

static std::optional<Damage> dropCollective(Program &program, Random &random) {
  auto at = drawCollective(program, random);
  if (!at)
    return std::nullopt;
  neutralize(program, at->spot);
  return Damage{"one rank calls no collective",
                {Rule::CollectiveOrder},
                rankText(at->rank)};
}

static std::optional<Damage> doubleCollective(Program &program,
                                              Random &random) {
  auto at = drawCollective(program, random);
  if (!at)
    return std::nullopt;
  // In a sequence of its own, so that no other changes its number.
  program::Role &role = *program.mutable_roles(at->spot.role);
  Instruction copy = at->spot.in(program);
  program::Sequence *again = role.add_sequences();
  again->set_name("again");
  *again->add_instructions() = copy;
  for (program::Entry &entry : *role.mutable_entries())
    for (int i = 0; i < entry.runs_size(); ++i)
      if (entry.runs(i).sequence() == uint32_t(at->spot.sequence)) {
        *entry.add_runs() = entry.runs(i);
        entry.mutable_runs(entry.runs_size() - 1)
            ->set_sequence(uint32_t(role.sequences_size() - 1));
        for (int k = entry.runs_size() - 1; k > i + 1; --k)
          entry.mutable_runs()->SwapElements(k, k - 1);
        break;
      }
  return Damage{"one rank calls a collective twice",
                {Rule::CollectiveOrder},
                rankText(at->rank)};
}

static std::optional<Damage> changeGroup(Program &program, Random &random) {
  auto at = drawCollective(program, random);
  if (!at || program.groups_size() < 2)
    return std::nullopt;
  auto *collective = at->spot.in(program).mutable_collective();
  uint32_t groups = uint32_t(program.groups_size());
  uint32_t group =
      (collective->group() + 1 + uint32_t(draw(random, groups - 1))) % groups;
  // A gather or a scatter has other sizes there, and a rank may be in no list
  // of it.
  collective->set_group(group);
  return Damage{"one rank calls another group",
                {Rule::CollectiveOrder, Rule::CollectiveSizes, Rule::Names},
                rankText(at->rank)};
}

static std::optional<Damage> changeReduction(Program &program, Random &random) {
  auto at = drawCollective(program, random);
  if (!at || at->spot.in(program).collective().op() != "all_reduce")
    return std::nullopt;
  auto *collective = at->spot.in(program).mutable_collective();
  if (draw(random, 2))
    collective->set_reduction("max");
  else
    collective->set_op("broadcast");
  return Damage{"one rank calls another collective",
                {Rule::CollectiveOrder},
                rankText(at->rank)};
}

static std::optional<Damage> changeCollectiveSize(Program &program,
                                                  Random &random) {
  auto at = drawCollective(program, random);
  if (!at || at->spot.in(program).collective().op() != "all_reduce")
    return std::nullopt;
  auto *collective = at->spot.in(program).mutable_collective();
  const auto &buffer =
      program.roles(at->spot.role).buffers(int(collective->from()));
  program::DType dtype = buffer.dtype();
  uint64_t elements = *checkedProduct(buffer.shape());
  bool type = draw(random, 2);
  if (type)
    dtype = dtype == program::F32 ? program::BF16 : program::F32;
  uint32_t fresh =
      addBuffer(program, at->spot.role, dtype, type ? elements : elements + 3);
  collective->set_from(fresh);
  collective->set_to(fresh);
  collective->clear_others();
  return Damage{"one rank reduces another size or type",
                {Rule::CollectiveOrder},
                rankText(at->rank)};
}

/// One rank exchanges rows as no other does: another way, rows of another
/// width, or with room for others.
static std::optional<Damage> changeRowExchange(Program &program,
                                               Random &random) {
  auto at = drawCollective(program, random);
  if (!at || !at->spot.in(program).collective().has_rows())
    return std::nullopt;
  auto *call = at->spot.in(program).mutable_collective();
  const auto &to = program.roles(at->spot.role).buffers(int(call->to()));
  uint64_t elements = *checkedProduct(to.shape());
  switch (draw(random, 3)) {
  case 0:
    call->set_op(call->op() == "exchange_rows" ? "return_rows"
                                               : "exchange_rows");
    break;
  case 1:
    call->mutable_rows()->set_width(1 + draw(random, 2) * elements);
    break;
  default:
    call->set_to(addBuffer(program, at->spot.role, to.dtype(),
                           elements + call->rows().width()));
  }
  // What reads the result finds none, where it went elsewhere.
  return Damage{"one rank exchanges other rows",
                {Rule::CollectiveOrder, Rule::CollectiveSizes},
                rankText(at->rank)};
}

/// The numbers of rows are not those that say how many.
static std::optional<Damage> changeRowCounts(Program &program, Random &random) {
  auto at = drawCollective(program, random);
  if (!at || !at->spot.in(program).collective().has_rows())
    return std::nullopt;
  auto *call = at->spot.in(program).mutable_collective();
  if (draw(random, 2))
    call->mutable_rows()->set_ranges(call->from());
  else
    call->mutable_rows()->set_segments(addBuffer(
        program, at->spot.role, program::I32, 2 + 2 * draw(random, 3)));
  return Damage{"rows are counted by another buffer",
                {Rule::CollectiveSizes},
                rankText(at->rank)};
}

/// What members see of a collective.
static std::string signatureOf(const Program &program, const Spot &spot,
                               const program::Collective &call) {
  const program::Role &role = program.roles(spot.role);
  std::string text = call.op() + call.reduction();
  auto add = [&](uint32_t from) {
    const auto &buffer = role.buffers(int(from));
    text += " " + std::to_string(*checkedProduct(buffer.shape())) + " " +
            std::to_string(buffer.dtype());
  };
  add(call.from());
  for (const auto &part : call.others())
    add(part.from());
  return text;
}

/// The next collective of the sequence that follows `spot`'s in its
/// communicator.
static std::optional<Spot> nextOf(Program &program, Spot spot) {
  const Instruction &first = spot.in(program);
  const auto &list =
      program.roles(spot.role).sequences(spot.sequence).instructions();
  for (int i = spot.instruction + 1; i < list.size(); ++i)
    if (list[i].has_collective() && list[i].stream() == first.stream() &&
        list[i].collective().group() == first.collective().group())
      return Spot{spot.role, spot.sequence, i};
  return std::nullopt;
}

/// Two that look alike to the others may be swapped unnoticed: none is.
static std::optional<Damage> swapCollectives(Program &program, Random &random) {
  auto at = drawCollective(program, random);
  if (!at)
    return std::nullopt;
  auto other = nextOf(program, at->spot);
  if (!other ||
      signatureOf(program, at->spot, at->spot.in(program).collective()) ==
          signatureOf(program, *other, other->in(program).collective()))
    return std::nullopt;
  at->spot.in(program).Swap(&other->in(program));
  return Damage{"one rank calls two collectives the other way round",
                {Rule::CollectiveOrder},
                rankText(at->rank)};
}

/// Two collectives behind each other on one stream, one along dp, one along tp.
static std::optional<std::pair<Spot, Spot>>
findCrossing(const Program &program) {
  auto axisOf = [&](const Instruction &instruction) {
    return program.groups(int(instruction.collective().group())).name();
  };
  for (int s = 0; s < program.roles(0).sequences_size(); ++s) {
    const auto &list = program.roles(0).sequences(s).instructions();
    std::map<uint32_t, int> lasts; // By stream.
    for (int i = 0; i < list.size(); ++i) {
      if (!isShared(program, list[i]))
        continue;
      auto [last, isFirst] = lasts.try_emplace(list[i].stream(), i);
      if (!isFirst && std::set{axisOf(list[last->second]), axisOf(list[i])} ==
                          std::set<std::string>{"dp", "tp"})
        return std::pair(Spot{0, s, last->second}, Spot{0, s, i});
      last->second = i;
    }
  }
  return std::nullopt;
}

/// Ranks 0 and 3 of a square call along one axis first, 1 and 2 along the
/// other: each communicator sees its order, and all four wait.
static std::optional<Damage> crossGroups(Program &program, Random &) {
  if (program.roles_size() != 1 || program.roles(0).ranks_size() != 4)
    return std::nullopt;
  auto crossing = findCrossing(program);
  if (!crossing)
    return std::nullopt;
  auto [first, second] = *crossing;
  for (uint32_t rank : {1u, 2u}) {
    first.role = second.role = splitRank(program, rank);
    first.in(program).Swap(&second.in(program));
  }
  return Damage{
      "two axes are reduced in crossing orders", {Rule::Progress}, "rank "};
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

/// Keeps a damage that the oracle says does harm.
static std::optional<Damage> ifHarmful(Program &program, const Spot &spot,
                                       const char *what) {
  StreamFaults faults = streamFaults(program, spot.role);
  if (!faults.any())
    return std::nullopt;
  Damage damage{what, {}, roleText(program, spot.role)};
  if (faults.race)
    damage.rules.insert(Rule::Race);
  else
    damage.rules.insert(Rule::EventRecorded);
  return damage;
}

static bool isWait(const Program &, const Instruction &instruction) {
  return instruction.has_wait();
}
static bool isRecord(const Program &, const Instruction &instruction) {
  return instruction.has_record();
}

static std::optional<Damage> dropWait(Program &program, Random &random) {
  auto spot = drawSpot(program, random, isWait);
  if (!spot)
    return std::nullopt;
  neutralize(program, *spot);
  return ifHarmful(program, *spot, "dropped wait");
}

static std::optional<Damage> dropRecord(Program &program, Random &random) {
  auto spot = drawSpot(program, random, isRecord);
  if (!spot)
    return std::nullopt;
  neutralize(program, *spot);
  return ifHarmful(program, *spot, "dropped record");
}

static std::optional<Damage> changeEvent(Program &program, Random &random) {
  auto spot = drawSpot(program, random, isWait);
  if (!spot)
    return std::nullopt;
  auto *wait = spot->in(program).mutable_wait();
  wait->set_event(
      uint32_t(draw(random, size_t(program.roles(spot->role).events()))));
  return ifHarmful(program, *spot, "wait for another event");
}

static std::optional<Damage> recordElsewhere(Program &program, Random &random) {
  auto spot = drawSpot(program, random, isRecord);
  if (!spot || program.roles(spot->role).streams() < 2)
    return std::nullopt;
  auto &record = spot->in(program);
  uint32_t streams = program.roles(spot->role).streams();
  record.set_stream(
      (record.stream() + 1 + uint32_t(draw(random, streams - 1))) % streams);
  return ifHarmful(program, *spot, "record on another stream");
}

static std::optional<Damage> waitElsewhere(Program &program, Random &random) {
  auto spot = drawSpot(program, random, isWait);
  if (!spot || program.roles(spot->role).streams() < 2)
    return std::nullopt;
  auto &wait = spot->in(program);
  uint32_t streams = program.roles(spot->role).streams();
  wait.set_stream((wait.stream() + 1 + uint32_t(draw(random, streams - 1))) %
                  streams);
  return ifHarmful(program, *spot, "wait on another stream");
}

/// Where nothing waits for the new stream.
static std::optional<Damage> moveToStream(Program &program, Random &random) {
  auto spot = drawSpot(program, random, isTransfer);
  if (!spot)
    return std::nullopt;
  program::Role &role = *program.mutable_roles(spot->role);
  spot->in(program).set_stream(role.streams());
  role.set_streams(role.streams() + 1);
  return ifHarmful(program, *spot, "transfer on another stream");
}

static std::optional<Damage> unknownEvent(Program &program, Random &random) {
  auto spot = drawSpot(program, random, isWait);
  if (!spot)
    return std::nullopt;
  spot->in(program).mutable_wait()->set_event(1u << 20);
  return Damage{"event that does not exist",
                {Rule::Names},
                roleText(program, spot->role)};
}

std::span<const DamageKind> hocket::test::communicationDamages() {
  static constexpr DamageKind kinds[] = {
      {"send dropped", dropSend},
      {"receive dropped", dropReceive},
      {"send doubled", doublePart},
      {"receive doubled", receiveTwice},
      {"tag changed", changeTag},
      {"peer changed", changePeer},
      {"peer outside", peerOutside},
      {"message size changed", changeMessageSize},
      {"message type changed", changeMessageType},
      {"transfer run twice", doubleRun},
      {"transfer not run", dropRun},
      {"messages on two streams", sendOnTwoStreams},
      {"receive too early", receiveTooEarly},
      {"microbatches exchanged", exchangeMicrobatches},
      {"collective dropped", dropCollective},
      {"collective doubled", doubleCollective},
      {"group changed", changeGroup},
      {"reduction changed", changeReduction},
      {"collective size changed", changeCollectiveSize},
      {"rows exchanged otherwise", changeRowExchange},
      {"rows counted by another", changeRowCounts},
      {"collectives swapped", swapCollectives},
      {"groups crossed", crossGroups},
      {"wait dropped", dropWait},
      {"record dropped", dropRecord},
      {"event changed", changeEvent},
      {"record moved", recordElsewhere},
      {"wait moved", waitElsewhere},
      {"transfer moved to another stream", moveToStream},
      {"unknown event", unknownEvent},
  };
  return kinds;
}
