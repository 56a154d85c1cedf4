//===- RunSave.cpp - Writing the state of an executor to disk -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/values/RunSave.h"

#include "base/Format.h"
#include "runtime/train/step/RankAgreement.h"
#include "runtime/train/values/RunTensors.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace hocket;
using namespace hocket::checkpoint;
using program::ParameterSlice;

//===----------------------------------------------------------------------===//
// What this rank saves
//===----------------------------------------------------------------------===//

/// Gives a slice's bytes from the device, a few MiB at a time.
static ByteProducer bytesOnDevice(Executor &executor,
                                  const ParameterSlice &slice) {
  return [&executor, &slice](const ByteSink &sink) -> Status {
    constexpr uint64_t chunk = uint64_t(4) << 20;
    uint64_t total = executor.sliceBytes(slice);
    std::vector<uint8_t> bytes;
    for (uint64_t at = 0; at < total; at += bytes.size()) {
      bytes.resize(std::min(chunk, total - at));
      HOCKET_RETURN_IF_ERROR(
          executor.readSlice(slice, at, bytes.data(), bytes.size()));
      HOCKET_RETURN_IF_ERROR(sink(bytes));
    }
    return okStatus();
  };
}

/// The same without the padding, which wants the slice in memory as a whole.
static ByteProducer bytesInside(Executor &executor, const ParameterSlice &slice,
                                const RankSlice &place, uint64_t elementBytes) {
  if (!place.isPadded())
    return bytesOnDevice(executor, slice);
  return [&executor, &slice, place, elementBytes](const ByteSink &sink) {
    std::vector<uint8_t> padded(executor.sliceBytes(slice));
    HOCKET_RETURN_IF_ERROR(
        executor.readSlice(slice, 0, padded.data(), padded.size()));
    SliceBounds inside = insideOf(place);
    std::vector<uint8_t> dense(elementsOf(inside) * elementBytes);
    copyShared({place.start, place.size}, padded, inside, dense, elementBytes);
    return sink(dense);
  };
}

static StatusOr<std::vector<CheckpointTensor>> ownTensors(Executor &executor) {
  std::vector<CheckpointTensor> tensors;
  for (const ParameterSlice &slice : executor.role().slices()) {
    RankSlice place = RankSlice::of(executor.program(), slice, executor.rank());
    if (!place.saves || place.isEmpty())
      continue;
    HOCKET_ASSIGN_OR_RETURN(TensorSpec spec,
                            tensorOf(executor.program(), slice));
    ByteProducer bytes =
        bytesInside(executor, slice, place, elementBytes(spec.type));
    tensors.push_back({std::move(spec), {{insideOf(place), std::move(bytes)}}});
  }
  return tensors;
}

/// The same from a copy in host memory, which it makes.
static Status copyToHost(std::vector<CheckpointTensor> &tensors) {
  for (CheckpointTensor &tensor : tensors)
    for (TensorSlice &slice : tensor.slices) {
      auto copy = std::make_shared<std::vector<uint8_t>>();
      copy->reserve(elementsOf(slice.bounds) * elementBytes(tensor.spec.type));
      HOCKET_RETURN_IF_ERROR(
          slice.bytes([&](std::span<const uint8_t> bytes) -> Status {
            copy->insert(copy->end(), bytes.begin(), bytes.end());
            return okStatus();
          }));
      slice.bytes = [copy](const ByteSink &sink) { return sink(*copy); };
    }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Among ranks
//===----------------------------------------------------------------------===//

/// A shard's files as words that ranks exchange: size in two, digest in eight.
static constexpr size_t wordsOfFile = 10, wordsOfShard = 2 * wordsOfFile;

static void packFile(const ShardFile &file, int32_t *words) {
  std::memcpy(words, &file.bytes, sizeof(file.bytes));
  for (size_t i = 0; i < 8 && file.sha256.size() == 64; ++i)
    words[2 + i] =
        int32_t(std::stoul(file.sha256.substr(8 * i, 8), nullptr, 16));
}

static ShardFile unpackFile(const int32_t *words) {
  ShardFile file;
  std::memcpy(&file.bytes, words, sizeof(file.bytes));
  for (size_t i = 0; i < 8; ++i)
    file.sha256 += formatText("%08x", uint32_t(words[2 + i]));
  return file;
}

static StatusOr<std::vector<Shard>> gatherShards(comm::Communicator &world,
                                                 const Shard &own) {
  std::vector<int32_t> words(wordsOfShard), all(wordsOfShard * world.size());
  packFile(own.weights, words.data());
  packFile(own.slots, words.data() + wordsOfFile);
  HOCKET_RETURN_IF_ERROR(world.allGather(words.data(), all.data(), words.size(),
                                         comm::DType::I32));
  std::vector<Shard> shards;
  for (unsigned rank = 0; rank < world.size(); ++rank)
    shards.push_back({unpackFile(&all[rank * wordsOfShard]),
                      unpackFile(&all[rank * wordsOfShard + wordsOfFile])});
  return shards;
}

/// Rank 0 makes the folder where all write, and tells its name.
static StatusOr<std::string>
createTogether(comm::Communicator &world, const RunState &state,
               const std::string &dir,
               std::unique_ptr<PendingIteration> &pending) {
  Status status;
  std::string folder;
  if (world.rank() == 0) {
    auto created = PendingIteration::create(dir, state.step);
    status = created.status();
    if (created.ok()) {
      pending = *std::move(created);
      folder = pending->folder();
    }
  }
  HOCKET_RETURN_IF_ERROR(agree(world, status));
  HOCKET_RETURN_IF_ERROR(broadcastText(world, folder));
  return folder;
}

/// Rank 0 commits what all have written.
static Status commitTogether(Executor &executor, const RunState &state,
                             PendingIteration *pending,
                             const StatusOr<Shard> &written) {
  comm::Communicator &world = executor.communicators().world();
  HOCKET_RETURN_IF_ERROR(agree(world, written.status()));
  HOCKET_ASSIGN_OR_RETURN(std::vector<Shard> shards,
                          gatherShards(world, *written));
  Status status;
  if (pending) {
    auto all = savedTensors(executor.program());
    status = all.ok() ? pending->commit(state, shards, *all) : all.status();
  }
  return agree(world, status);
}

static bool isAlone(Executor &executor) {
  return executor.communicators().world().size() == 1;
}

Status hocket::saveRun(Executor &executor, const RunState &state,
                       const std::string &dir) {
  comm::PatientScope patient(executor.communicators().activity(),
                             "saving a checkpoint");
  HOCKET_ASSIGN_OR_RETURN(auto tensors, ownTensors(executor));
  if (isAlone(executor))
    return saveCheckpoint(dir, state, tensors);
  comm::Communicator &world = executor.communicators().world();
  std::unique_ptr<PendingIteration> pending;
  HOCKET_ASSIGN_OR_RETURN(std::string folder,
                          createTogether(world, state, dir, pending));
  return commitTogether(
      executor, state, pending.get(),
      writeShard(folder, world.rank(), world.size(), tensors));
}

//===----------------------------------------------------------------------===//
// In the background
//===----------------------------------------------------------------------===//

StatusOr<std::unique_ptr<BackgroundSave>>
BackgroundSave::begin(Executor &executor, const RunState &state,
                      const std::string &dir) {
  comm::PatientScope patient(executor.communicators().activity(),
                             "copying what a checkpoint saves");
  comm::Communicator &world = executor.communicators().world();
  std::unique_ptr<BackgroundSave> save(new BackgroundSave(executor, state));
  StatusOr<std::vector<CheckpointTensor>> tensors = ownTensors(executor);
  Status copied = tensors.ok() ? copyToHost(*tensors) : tensors.status();
  HOCKET_RETURN_IF_ERROR(agree(world, copied));
  if (isAlone(executor)) {
    save->written = std::async(
        std::launch::async,
        [state, dir, tensors = *std::move(tensors)]() -> StatusOr<Shard> {
          HOCKET_RETURN_IF_ERROR(saveCheckpoint(dir, state, tensors));
          return Shard();
        });
    return save;
  }
  HOCKET_ASSIGN_OR_RETURN(std::string folder,
                          createTogether(world, state, dir, save->pending));
  save->written =
      std::async(std::launch::async,
                 [folder, rank = world.rank(), ranks = world.size(),
                  tensors = *std::move(tensors)]() -> StatusOr<Shard> {
                   return writeShard(folder, rank, ranks, tensors);
                 });
  return save;
}

BackgroundSave::~BackgroundSave() = default;

bool BackgroundSave::isWritten() const {
  return !written.valid() ||
         written.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

Status BackgroundSave::finish() {
  comm::PatientScope patient(executor.communicators().activity(),
                             "saving a checkpoint");
  StatusOr<Shard> own = written.get();
  return isAlone(executor)
             ? own.status()
             : commitTogether(executor, state, pending.get(), own);
}
