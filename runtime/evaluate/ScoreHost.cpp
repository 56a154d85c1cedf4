//===- ScoreHost.cpp - Log-probabilities of a microbatch ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/ScoreHost.h"

#include "runtime/base/Format.h"
#include "runtime/program/HostOutputs.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

using namespace hocket;
using namespace hocket::evaluate;
using program::Host;

/// The labels that a role takes in where it evaluates; null if it takes none.
static const Host *labelsOf(const program::Role &role) {
  for (const program::Entry &entry : role.entries()) {
    if (entry.name() != "eval_step")
      continue;
    for (const program::Entry::Run &run : entry.runs())
      for (const program::Instruction &instruction :
           role.sequences(int(run.sequence())).instructions())
        if (instruction.has_host() && instruction.host().name() == "labels" &&
            instruction.host().direction() == Host::INPUT)
          return &instruction.host();
  }
  return nullptr;
}

ScoreHost::ScoreHost(const program::Program &program, unsigned rank,
                     NextBatch next)
    : StepHost(std::move(next)), batch(program.training().global_batch_size() /
                                       program.training().microbatches()),
      sequence(program.model().sequence_length()) {
  std::map<Corner, uint32_t> owners;
  auto add = [&](Corner corner, uint32_t holder) {
    auto [found, added] = owners.try_emplace(corner, holder);
    found->second = std::min(found->second, holder);
  };
  RankPlaces places(program);
  for (const program::Role &role : program.roles())
    if (const Host *labels = labelsOf(role))
      for (uint32_t holder : role.ranks()) {
        if (labels->shards().empty())
          add({0, 0}, holder);
        for (const Host::Shard &shard : labels->shards())
          add({places.scalar(shard.start(0), holder).value_or(0),
               places.scalar(shard.start(1), holder).value_or(0)},
              holder);
      }
  for (auto [corner, owner] : owners)
    if (owner == rank)
      ownBoxes.insert(corner);
}

Status ScoreHost::provide(const HostInput &input, std::span<std::byte> data) {
  if (input.name == "labels") {
    shards.assign(input.shards.begin(), input.shards.end());
    if (shards.empty())
      shards = {{{0, 0}, {batch, sequence}}};
  }
  return StepHost::provide(input, data);
}

Status ScoreHost::receive(const std::string &name, uint32_t microbatch,
                          std::span<const std::byte> data) {
  if (!isOfEachLabel(name))
    return StepHost::receive(name, microbatch, data);
  std::vector<float> &to = name == "lse" ? lse : picked;
  to.resize(data.size() / sizeof(float));
  std::memcpy(to.data(), data.data(), to.size() * sizeof(float));
  return okStatus();
}

/// Every element has one rank that does not give 0, so their sum is its bits.
StatusOr<std::vector<float>> ScoreHost::share(comm::Communicator &world) const {
  std::vector<int32_t> words(batch * sequence);
  uint64_t rows = shards.empty() ? 0 : shards.front().size.front(), width = 0;
  for (const HostShard &shard : shards)
    width += shard.size.back();
  if (lse.size() != rows * width || picked.size() != lse.size())
    return internalError(formatText(
        "the program says %zu and %zu numbers of %llu labels", lse.size(),
        picked.size(), (unsigned long long)(rows * width)));
  uint64_t before = 0; // In a row of this rank's.
  for (const HostShard &shard : shards) {
    uint64_t columns = shard.size.back();
    if (ownBoxes.count({shard.start.front(), shard.start.back()}))
      for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < columns; ++c) {
          size_t from = r * width + before + c;
          words[(uint64_t(shard.start.front()) + r) * sequence +
                uint64_t(shard.start.back()) + c] =
              std::bit_cast<int32_t>(picked[from] - lse[from]);
        }
    before += columns;
  }
  if (world.size() > 1)
    HOCKET_RETURN_IF_ERROR(world.allReduce(words.data(), words.data(),
                                           words.size(), comm::DType::I32,
                                           comm::Reduction::Sum));
  std::vector<float> result(words.size());
  for (size_t i = 0; i < words.size(); ++i)
    result[i] = std::bit_cast<float>(words[i]);
  return result;
}
