//===- ScoreHost.cpp - What a model says of a microbatch ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/step/ScoreHost.h"

#include "base/Format.h"
#include "runtime/checkpoint/ElementType.h"
#include "runtime/program/DataType.h"
#include "runtime/program/Entries.h"
#include "runtime/program/HostNames.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <bit>
#include <map>

using namespace hocket;
using program::Host;

/// What a role tells of `name` in an entry; null if nothing.
static const Host *findOutput(const program::Role &role,
                              const std::string &entryName,
                              const std::string &name) {
  for (const program::Entry &entry : role.entries()) {
    if (entry.name() != entryName)
      continue;
    for (const Host *host : hostsOf(role, entry))
      if (host->name() == name && host->direction() == Host::OUTPUT)
        return host;
  }
  return nullptr;
}

ScoreHost::ScoreHost(const program::Program &program, unsigned rank,
                     NextBatch next, const std::string &rowName)
    : StepHost(std::move(next)), rowName(rowName),
      batch(globalMicrobatchOf(program.training())),
      sequence(program.model().sequence_length()),
      columns(widthOf(program, rowName)) {
  for (const std::string &name :
       {std::string("lse"), std::string("picked"), rowName})
    findOwn(program, rank, "eval_step", name);
}

ScoreHost ScoreHost::ofHidden(const program::Program &program, unsigned rank,
                              NextBatch next) {
  return {program, rank, std::move(next), "hidden"};
}

/// Behind the vocabulary logits have columns of padding.
uint64_t ScoreHost::widthOf(const program::Program &program,
                            const std::string &name) {
  if (name == "logits")
    return labelValuesOf(program);
  uint64_t width = 0;
  RankPlaces at(program);
  for (const program::Role &role : program.roles()) {
    const Host *output = findOutput(role, "eval_step", name);
    if (!output)
      continue;
    const auto &shape = role.buffers(int(output->buffer())).shape();
    if (output->shards().empty() && !shape.empty())
      width = std::max(width, shape[shape.size() - 1]);
    for (const Host::Shard &shard : output->shards())
      for (uint32_t rank : role.ranks())
        width = std::max(width,
                         uint64_t(at.scalar(shard.start(2), rank).value_or(0)) +
                             shard.size(2));
  }
  return width;
}

ScoreHost::ScoreHost(const program::Program &program, unsigned rank,
                     const std::string &entry, uint64_t tokens)
    : StepHost([](data::Batch &) {
        return internalError("is asked for a batch of sequences");
      }),
      batch(tokens), sequence(1), columns(program.model().vocab_size()) {
  for (const char *name : {"lse", "picked", "logits"})
    findOwn(program, rank, entry, name);
}

ScoreHost::Held &ScoreHost::heldOf(const std::string &name) {
  return name == "lse" ? lse : name == "picked" ? picked : logits;
}

void ScoreHost::findOwn(const program::Program &program, unsigned rank,
                        const std::string &entry, const std::string &name) {
  std::map<Corner, uint32_t> owners;
  auto add = [&](Corner corner, uint32_t holder) {
    auto [found, added] = owners.try_emplace(std::move(corner), holder);
    found->second = std::min(found->second, holder);
  };
  RankPlaces at(program);
  for (const program::Role &role : program.roles())
    if (const Host *output = findOutput(role, entry, name))
      for (uint32_t holder : role.ranks()) {
        if (output->shards().empty())
          add(Corner(isRowOfEachLabel(name) ? 3 : 2, 0), holder);
        for (const Host::Shard &shard : output->shards()) {
          Corner corner;
          for (const program::Scalar &start : shard.start())
            corner.push_back(at.scalar(start, holder).value_or(0));
          add(std::move(corner), holder);
        }
      }
  for (const auto &[corner, owner] : owners)
    if (owner == rank)
      heldOf(name).own.insert(corner);
}

void ScoreHost::ask(bool labels, std::vector<LabelPlace> ofLogits) {
  wantsLabels = labels;
  places = std::move(ofLogits);
}

std::vector<ByteRange> ScoreHost::wanted(const HostOutput &output) {
  if (!isOfEachLabel(output.name))
    return StepHost::wanted(output);
  if (isRowOfEachLabel(output.name) && output.name != rowName)
    return {};
  Held &held = heldOf(output.name);
  held.type = output.type;
  held.shards.assign(output.shards.begin(), output.shards.end());
  held.values.clear();
  if (output.name == rowName)
    return wantedLogits(output);
  if (held.shards.empty())
    held.shards = {{{0, 0}, {batch, sequence}}};
  if (!wantsLabels)
    return {};
  return {{0, output.bytes}};
}

/// The places that lie in this rank's shards, as far as no lower rank has them.
std::vector<ByteRange> ScoreHost::wantedLogits(const HostOutput &output) {
  uint64_t element = dataTypeBytes(output.type);
  if (logits.shards.empty())
    logits.shards = {
        {{0, 0, 0},
         {batch, sequence, output.bytes / (element * batch * sequence)}}};
  uint64_t width = 0;
  for (const HostShard &shard : logits.shards)
    width += shard.size[1];
  runs.clear();
  std::vector<ByteRange> ranges;
  for (size_t i = 0; i < places.size(); ++i) {
    uint64_t before = 0; // In a row of this rank's.
    for (const HostShard &shard : logits.shards) {
      // Behind the vocabulary there are columns of padding.
      uint64_t first = std::min(uint64_t(shard.start[2]), columns);
      uint64_t count = std::min(shard.size[2], columns - first);
      uint64_t row = places[i].row - uint64_t(shard.start[0]);
      uint64_t position = places[i].position - uint64_t(shard.start[1]);
      if (row < shard.size[0] && position < shard.size[1] && count > 0 &&
          logits.own.count(shard.start)) {
        uint64_t at = (row * width + before + position) * shard.size[2];
        ranges.push_back({at * element, count * element});
        runs.push_back({i, first, count});
      }
      before += shard.size[1];
    }
  }
  return ranges;
}

static checkpoint::ElementType elementOf(program::DType type) {
  return type == program::BF16  ? checkpoint::ElementType::BF16
         : type == program::F16 ? checkpoint::ElementType::F16
                                : checkpoint::ElementType::F32;
}

Status ScoreHost::receive(const std::string &name, uint32_t microbatch,
                          std::span<const std::byte> data) {
  if (!isOfEachLabel(name))
    return StepHost::receive(name, microbatch, data);
  Held &held = heldOf(name);
  auto values = checkpoint::toFloats(
      {reinterpret_cast<const uint8_t *>(data.data()), data.size()},
      elementOf(held.type));
  if (!values)
    return internalError("'" + name + "' is no whole number of elements");
  held.values = *std::move(values);
  return okStatus();
}

/// Every element has at most one rank that does not give 0, so their sum is its
/// bits.
StatusOr<std::vector<float>>
ScoreHost::sumOfBits(comm::Communicator &world,
                     std::vector<int32_t> words) const {
  if (world.size() > 1 && !words.empty())
    HOCKET_RETURN_IF_ERROR(world.allReduce(words.data(), words.data(),
                                           words.size(), comm::DType::I32,
                                           comm::Reduction::Sum));
  std::vector<float> result(words.size());
  for (size_t i = 0; i < words.size(); ++i)
    result[i] = std::bit_cast<float>(words[i]);
  return result;
}

StatusOr<std::vector<float>>
ScoreHost::shareLabels(comm::Communicator &world) const {
  std::vector<int32_t> words(batch * sequence);
  uint64_t rows = lse.shards.empty() ? 0 : lse.shards.front().size[0];
  uint64_t width = 0, before = 0; // Of a row of this rank's.
  for (const HostShard &shard : lse.shards)
    width += shard.size[1];
  if (lse.values.size() != rows * width ||
      picked.values.size() != lse.values.size())
    return internalError(formatText(
        "the program says %zu and %zu numbers of %llu labels",
        lse.values.size(), picked.values.size(), wide(rows * width)));
  for (const HostShard &shard : lse.shards)
    if (shard.start[0] < 0 || shard.start[1] < 0 ||
        uint64_t(shard.start[0]) + rows > batch ||
        uint64_t(shard.start[1]) + shard.size[1] > sequence)
      return dataLoss("the program tells of labels outside the microbatch");
  for (const HostShard &shard : lse.shards) {
    if (lse.own.count(shard.start))
      for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < shard.size[1]; ++c) {
          size_t from = r * width + before + c;
          words[(uint64_t(shard.start[0]) + r) * sequence +
                uint64_t(shard.start[1]) + c] =
              std::bit_cast<int32_t>(picked.values[from] - lse.values[from]);
        }
    before += shard.size[1];
  }
  return sumOfBits(world, std::move(words));
}

StatusOr<std::vector<float>>
ScoreHost::shareLogits(comm::Communicator &world) const {
  std::vector<int32_t> words(places.size() * columns);
  auto next = logits.values.begin();
  for (const LogitRun &run : runs)
    for (uint64_t c = 0; c < run.columns; ++c)
      words[run.place * columns + run.firstColumn + c] =
          std::bit_cast<int32_t>(*next++);
  return sumOfBits(world, std::move(words));
}
