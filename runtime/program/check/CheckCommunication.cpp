//===- CheckCommunication.cpp - Checks of what ranks exchange -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every instruction by itself. Whether ranks meet, and in which order, is the
/// certificate's matter.
///
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/HostNames.h"

#include <map>
#include <set>

using namespace hocket;
using program::Buffer;
using program::Instruction;
using program::Role;

namespace {
/// Checks one role's communication.
class CommunicationChecker {
public:
  CommunicationChecker(const program::Program &program, int role,
                       FaultList &faults)
      : program(program), role(role), r(program.roles(role)), faults(faults) {
    for (const program::Group &group : program.groups())
      sizes.push_back(sizeForRole(group));
  }

  void run() {
    forEachInstruction(
        program, role, faults,
        [&](const ProgramPlace &at, const Instruction &instruction) {
          place = &at;
          check(instruction);
        });
  }

private:
  void add(ProgramRule rule, const std::string &what) {
    faults.add(rule, place->text(), what);
  }

  /// Members of the list that a rank of the role is in; 0 if one is in none.
  uint64_t sizeForRole(const program::Group &group) const {
    std::set<uint32_t> members;
    for (const auto &list : group.members())
      members.insert(list.ranks().begin(), list.ranks().end());
    for (uint32_t rank : r.ranks())
      if (!members.count(rank))
        return 0;
    return group.members().empty() ? 0
                                   : uint64_t(group.members(0).ranks_size());
  }

  /// Whether all ranks of the role are in the group; says so if not.
  bool knowsGroup(uint32_t group) {
    if (group >= sizes.size()) {
      add(ProgramRule::Names,
          formatText("names group %u, there are %zu", group, sizes.size()));
      return false;
    }
    if (sizes[group] == 0)
      add(ProgramRule::Names,
          formatText("names group %u, which not all ranks of the role are in",
                     group));
    return sizes[group] > 0;
  }

  void check(const Instruction &instruction) {
    checkStream(instruction);
    if (instruction.has_collective())
      checkCollective(instruction.collective());
    else if (instruction.has_transfer())
      checkTransfer(instruction.transfer());
    else if (instruction.has_host())
      checkHost(instruction.host());
    else if (instruction.has_launch())
      checkScalars(instruction.launch().scalars());
    else if (instruction.has_library())
      checkScalars(instruction.library().scalars());
  }

  void checkStream(const Instruction &instruction) {
    bool computes = instruction.has_launch() || instruction.has_gemm() ||
                    instruction.has_library() || instruction.has_host();
    if (instruction.stream() > 0 && computes)
      add(ProgramRule::Names,
          formatText("runs on stream %u; only stream 0 computes",
                     instruction.stream()));
  }

  void checkScalars(
      const google::protobuf::RepeatedPtrField<program::Scalar> &scalars) {
    for (const program::Scalar &scalar : scalars)
      if (scalar.has_index_in_group())
        knowsGroup(scalar.index_in_group());
  }

  const Buffer &buffer(uint32_t index) const { return r.buffers(int(index)); }
  uint64_t elements(uint32_t index) const {
    return checkedProduct(buffer(index).shape()).value_or(0);
  }

  static bool canTravel(program::DType dtype) {
    return dtype == program::F32 || dtype == program::BF16 ||
           dtype == program::F16 || dtype == program::I32 ||
           dtype == program::F8_E4M3 || dtype == program::F8_E5M2;
  }

  void checkType(uint32_t index) {
    if (!canTravel(buffer(index).dtype()))
      add(ProgramRule::CollectiveSizes,
          formatText("communicates buffer %u of type %s, which only f32, bf16, "
                     "f16, i32, f8e4m3 and f8e5m2 can",
                     index, dataTypeName(buffer(index).dtype())));
  }

  void checkCollective(const program::Collective &collective) {
    static const std::set<std::string> ops = {"all_reduce", "all_gather",
                                              "reduce_scatter", "all_to_all",
                                              "broadcast"};
    const std::string &op = collective.op();
    if (isRowExchange(op) || collective.has_rows())
      return checkRowExchange(collective);
    if (!ops.count(op))
      return add(ProgramRule::CollectiveSizes,
                 "unknown collective '" + op + "'");
    bool reduces = op == "all_reduce" || op == "reduce_scatter";
    if (reduces && collective.reduction() != "sum" &&
        collective.reduction() != "max")
      add(ProgramRule::CollectiveSizes,
          "reduces with '" + collective.reduction() + "', expected sum or max");
    if (!knowsGroup(collective.group()))
      return;
    uint64_t size = sizes[collective.group()];
    if (op == "broadcast" && collective.root() >= size)
      add(ProgramRule::CollectiveSizes,
          formatText("broadcasts from place %u of %llu", collective.root(),
                     wide(size)));
    program::Collective::Part first;
    first.set_from(collective.from());
    first.set_to(collective.to());
    std::map<uint32_t, bool> seen; // by buffer, whether a part writes it
    checkPart(op, first, size, seen);
    for (const auto &part : collective.others())
      checkPart(op, part, size, seen);
  }

  static bool isRowExchange(const std::string &op) {
    return op == "exchange_rows" || op == "return_rows";
  }

  /// Rows of one width, and a pair of numbers for each expert of each member.
  void checkRowExchange(const program::Collective &collective) {
    const std::string &op = collective.op();
    if (!isRowExchange(op) || !collective.has_rows())
      return add(ProgramRule::CollectiveSizes,
                 op + (collective.has_rows() ? " has ranges of rows"
                                             : " lacks ranges of rows"));
    if (!collective.others().empty())
      return add(ProgramRule::CollectiveSizes, op + " in several parts");
    if (!knowsGroup(collective.group()))
      return;
    const program::Collective::Rows &rows = collective.rows();
    uint32_t from = collective.from(), to = collective.to();
    checkType(from);
    if (from == to || to == rows.ranges() || to == rows.segments())
      add(ProgramRule::CollectiveSizes, op + " onto what it reads");
    if (buffer(from).dtype() != buffer(to).dtype())
      add(ProgramRule::CollectiveSizes,
          "a collective between buffers of different element types");
    if (rows.width() == 0 || elements(from) % rows.width() != 0 ||
        elements(to) % rows.width() != 0)
      add(ProgramRule::CollectiveSizes,
          formatText("%s of rows of %llu elements between %llu and %llu",
                     op.c_str(), wide(rows.width()), wide(elements(from)),
                     wide(elements(to))));
    uint64_t pairs = elements(rows.ranges());
    uint64_t size = sizes[collective.group()];
    for (uint32_t index : {rows.ranges(), rows.segments()})
      if (buffer(index).dtype() != program::I32 || elements(index) != pairs ||
          pairs == 0 || pairs % (2 * size) != 0)
        add(ProgramRule::CollectiveSizes,
            formatText("%s by buffer %u of %llu %s, which is no pair of i32 "
                       "for each expert of %llu ranks",
                       op.c_str(), index, wide(elements(index)),
                       dataTypeName(buffer(index).dtype()), wide(size)));
    bool fits = op == "exchange_rows" ? elements(from) <= elements(to)
                                      : elements(to) <= elements(from);
    if (!fits)
      add(ProgramRule::CollectiveSizes,
          op + " has less room for chosen rows than the even share");
  }

  /// Parts proceed in any order: what one writes no other may touch.
  void checkPart(const std::string &op, const program::Collective::Part &part,
                 uint64_t size, std::map<uint32_t, bool> &seen) {
    bool inPlace = op == "all_reduce" || op == "broadcast" || size == 1;
    if (part.from() == part.to() && !inPlace)
      add(ProgramRule::CollectiveSizes, op + " of a buffer onto itself");
    auto read = seen.try_emplace(part.from(), false);
    bool clash = !read.second && read.first->second;
    auto written = seen.try_emplace(part.to(), true);
    clash |= !written.second && part.from() != part.to();
    clash |= part.from() == part.to() && !read.second;
    written.first->second = true;
    if (clash)
      add(ProgramRule::CollectiveSizes,
          formatText("two parts of a collective meet in buffer %u", part.to()));
    checkType(part.from());
    bool reduces = op == "all_reduce" || op == "reduce_scatter";
    if (reduces && dataTypeBytes(buffer(part.from()).dtype()) == 1)
      add(ProgramRule::CollectiveSizes,
          formatText("reduces buffer %u of type %s, which is only copied",
                     part.from(), dataTypeName(buffer(part.from()).dtype())));
    if (buffer(part.from()).dtype() != buffer(part.to()).dtype())
      add(ProgramRule::CollectiveSizes,
          "a collective between buffers of different element types");
    checkSizes(op, part, size);
  }

  /// A gather's result and a scatter's operand hold one part for each member.
  void checkSizes(const std::string &op, const program::Collective::Part &part,
                  uint64_t size) {
    uint64_t from = elements(part.from());
    uint64_t to = elements(part.to());
    if (op == "all_to_all" && from % size != 0)
      return add(ProgramRule::CollectiveSizes,
                 formatText("all_to_all of %llu elements among %llu ranks",
                            wide(from), wide(size)));
    std::optional<uint64_t> give =
        op == "all_gather" ? checkedMultiply(from, size) : from;
    std::optional<uint64_t> take =
        op == "reduce_scatter" ? checkedMultiply(to, size) : to;
    if (!give || !take || *give != *take)
      add(ProgramRule::CollectiveSizes,
          formatText("%s of %llu elements into %llu among %llu ranks",
                     op.c_str(), wide(from), wide(to), wide(size)));
  }

  void checkTransfer(const program::Transfer &transfer) {
    if (transfer.parts().empty())
      return add(ProgramRule::TransferParts, "a transfer of nothing");
    if (!knowsGroup(transfer.group()))
      return;
    std::set<uint32_t> sent, received;
    for (const auto &part : transfer.parts()) {
      if (part.peer() >= sizes[transfer.group()])
        add(ProgramRule::TransferParts,
            formatText("%s place %u of a group of %llu",
                       part.send() ? "sends to" : "receives from", part.peer(),
                       wide(sizes[transfer.group()])));
      checkAddressing(transfer.group(), part.relative());
      checkType(part.buffer());
      if (part.send())
        sent.insert(part.buffer());
      else if (!received.insert(part.buffer()).second)
        add(ProgramRule::TransferParts,
            formatText("receives twice into buffer %u", part.buffer()));
    }
    for (uint32_t index : received)
      if (sent.count(index))
        add(ProgramRule::TransferParts,
            formatText("sends and receives buffer %u at once", index));
  }

  /// One form in all transfers of a group, so that a peer has one name.
  void checkAddressing(uint32_t group, bool relative) {
    auto [known, isNew] = addressing.try_emplace(group, relative);
    if (known->second != relative)
      add(ProgramRule::TransferParts,
          formatText("names peers of group %u by their distance and by their "
                     "place",
                     group));
  }

  void checkHost(const program::Host &host) {
    if (host.shards().empty())
      return;
    bool isInput = host.direction() == program::Host::INPUT;
    if (isInput ? !isBatchInput(host.name()) : !isOfEachLabel(host.name()))
      return add(ProgramRule::Inputs,
                 "only the inputs of a batch ('tokens', 'labels', ...), and "
                 "what there is of each label, come in shards");
    int dims = !isInput && !isNumberOfEachLabel(host.name()) ? 3 : 2;
    const auto &first = host.shards(0);
    uint64_t width = 0;
    for (const auto &shard : host.shards()) {
      bool isWhole = shard.start_size() == dims && shard.size_size() == dims;
      for (uint64_t size : shard.size())
        isWhole &= size > 0;
      if (!isWhole)
        return add(ProgramRule::Inputs,
                   "a shard wants a start and a positive size for sequences "
                   "and for positions");
      for (const program::Scalar &start : shard.start())
        if (start.has_index_in_group())
          knowsGroup(start.index_in_group());
        else if (!start.has_constant())
          add(ProgramRule::Inputs,
              "a shard starts where no rank can know before it runs");
      width = checkedAdd(width, shard.size(1)).value_or(~uint64_t(0));
      if (shard.size(0) != first.size(0))
        return add(ProgramRule::Inputs,
                   "shards have different numbers of sequences");
      if (dims == 3 && shard.size(2) != first.size(2))
        return add(ProgramRule::Inputs,
                   "shards have different numbers of columns");
    }
    uint64_t columns = dims == 3 ? first.size(2) : 1;
    auto has = checkedMultiply(first.size(0), width);
    if (!has || checkedMultiply(*has, columns) != elements(host.buffer()))
      add(ProgramRule::Inputs,
          formatText("shards of %llu x %llu fill a buffer of %llu elements",
                     wide(first.size(0)), wide(width),
                     wide(elements(host.buffer()) / columns)));
  }

  const program::Program &program;
  int role;
  const Role &r;
  const ProgramPlace *place = nullptr;
  FaultList &faults;
  std::map<uint32_t, bool> addressing; ///< By group, whether relative.
  std::vector<uint64_t> sizes;         ///< By group; 0: not for this role.
};
} // namespace

void hocket::checkCommunication(const program::Program &program, int role,
                                FaultList &faults) {
  CommunicationChecker(program, role, faults).run();
}
