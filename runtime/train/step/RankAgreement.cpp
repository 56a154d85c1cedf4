//===- RankAgreement.cpp - What all ranks must know -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/RankAgreement.h"

#include "base/Format.h"
#include "runtime/program/HostNames.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace hocket;
using comm::DType;

/// The names of the numbers that a role reports.
static std::vector<std::string> outputsOf(const program::Role &role) {
  std::vector<std::string> names;
  for (const program::Sequence &sequence : role.sequences())
    for (const program::Instruction &instruction : sequence.instructions())
      if (instruction.has_host() &&
          instruction.host().direction() == program::Host::OUTPUT &&
          !isOfEachLabel(instruction.host().name()))
        names.push_back(instruction.host().name());
  return names;
}

static bool exchangesRowsOf(const program::Role &role) {
  for (const program::Sequence &sequence : role.sequences())
    for (const program::Instruction &instruction : sequence.instructions())
      if (instruction.collective().has_rows())
        return true;
  return false;
}

OutputSharing::OutputSharing(const program::Program &program,
                             comm::CommunicatorSet &communicators)
    : world(communicators.world()),
      exchangesRows(std::ranges::any_of(program.roles(), exchangesRowsOf)) {
  std::map<std::string, unsigned> lowest;
  for (const program::Role &role : program.roles()) {
    if (role.ranks().empty())
      continue;
    unsigned first =
        *std::min_element(role.ranks().begin(), role.ranks().end());
    for (const std::string &name : outputsOf(role)) {
      auto [found, added] = lowest.try_emplace(name, first);
      found->second = std::min(found->second, first);
    }
  }
  for (const auto &[name, rank] : lowest) {
    if (name == "loss") {
      lossOwner = rank;
      continue;
    }
    names.push_back(name);
    owners.push_back(rank);
  }
}

/// Every word has one rank that does not give 0, so their sum is its word.
StatusOr<SharedOutputs> OutputSharing::share(const StepOutputs &own,
                                             StepSignals signals) {
  SharedOutputs shared;
  if (world.size() == 1) {
    shared.loss = own.meanLoss();
    shared.numbers.insert(own.numbers.begin(), own.numbers.end());
    shared.signals = signals;
    return shared;
  }
  // The three signals, the loss in two, 15 bits of labels each in three, so
  // that 2^16 ranks' sums fit, and of each number whether it is there and its
  // bits.
  constexpr size_t lossAt = 3, labelsAt = 5, numbersAt = 8;
  std::vector<int32_t> words(numbersAt + 2 * names.size());
  words[0] = signals.interrupted;
  words[1] = signals.noData;
  words[2] = signals.writing;
  for (size_t i = 0; i < numbersAt - labelsAt; ++i)
    words[labelsAt + i] = int32_t(signals.labels >> (15 * i) & 0x7fff);
  if (lossOwner == world.rank()) {
    double loss = own.meanLoss();
    std::memcpy(&words[lossAt], &loss, sizeof(loss));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    auto found = own.numbers.find(names[i]);
    if (owners[i] != world.rank() || found == own.numbers.end())
      continue;
    words[numbersAt + 2 * i] = 1;
    words[numbersAt + 2 * i + 1] = std::bit_cast<int32_t>(found->second);
  }
  HOCKET_RETURN_IF_ERROR(world.allReduce(words.data(), words.data(),
                                         words.size(), DType::I32,
                                         comm::Reduction::Sum));
  shared.signals = {words[0] != 0, words[1] != 0, words[2] != 0};
  for (size_t i = 0; i < numbersAt - labelsAt; ++i)
    shared.signals.labels += uint64_t(words[labelsAt + i]) << (15 * i);
  std::memcpy(&shared.loss, &words[lossAt], sizeof(shared.loss));
  if (!lossOwner)
    shared.loss = std::nan("");
  for (size_t i = 0; i < names.size(); ++i)
    if (words[numbersAt + 2 * i])
      shared.numbers[names[i]] =
          std::bit_cast<float>(words[numbersAt + 2 * i + 1]);
  HOCKET_RETURN_IF_ERROR(shareLoad(own, shared));
  return shared;
}

Status OutputSharing::shareLoad(const StepOutputs &own, SharedOutputs &shared) {
  if (!exchangesRows)
    return okStatus();
  auto load = float(own.expertLoad);
  HOCKET_RETURN_IF_ERROR(
      world.allReduce(&load, &load, 1, DType::F32, comm::Reduction::Max));
  shared.expertLoad = load;
  return okStatus();
}

StatusOr<bool> hocket::anyOf(comm::Communicator &world, bool own) {
  int32_t any = own;
  HOCKET_RETURN_IF_ERROR(
      world.allReduce(&any, &any, 1, DType::I32, comm::Reduction::Max));
  return any != 0;
}

Status hocket::agree(comm::Communicator &world, const Status &own) {
  if (world.size() == 1)
    return own;
  int32_t code = int32_t(own.code());
  std::vector<int32_t> all(world.size());
  HOCKET_RETURN_IF_ERROR(world.allGather(&code, all.data(), 1, DType::I32));
  auto bad = std::find_if(all.begin(), all.end(),
                          [](int32_t code) { return code != 0; });
  if (bad == all.end())
    return okStatus();
  unsigned rank = unsigned(bad - all.begin());
  std::string text = own.message();
  HOCKET_RETURN_IF_ERROR(broadcastText(world, text, rank));
  return Status(StatusCode(*bad), formatText("rank %u: ", rank) + text);
}

Status hocket::broadcastText(comm::Communicator &world, std::string &text,
                             unsigned root) {
  int32_t length = int32_t(text.size());
  HOCKET_RETURN_IF_ERROR(world.broadcast(&length, 1, DType::I32, root));
  std::vector<int32_t> words(size_t(length), 0);
  for (size_t i = 0; i < std::min(text.size(), words.size()); ++i)
    words[i] = uint8_t(text[i]);
  HOCKET_RETURN_IF_ERROR(
      world.broadcast(words.data(), words.size(), DType::I32, root));
  text.clear();
  for (int32_t word : words)
    text += char(word);
  return okStatus();
}
