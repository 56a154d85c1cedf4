//===- RunCheckpoint.cpp - The state of an executor on disk ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/values/RunCheckpoint.h"

#include "base/Format.h"
#include "runtime/checkpoint/ShardedSave.h"
#include "runtime/checkpoint/WeightFit.h"
#include "runtime/checkpoint/hugging_face/Adapters.h"
#include "runtime/train/step/RankAgreement.h"
#include "runtime/train/values/RankSlice.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

using namespace hocket;
using namespace hocket::checkpoint;
using program::ParameterSlice;

static std::optional<ElementType> elementType(program::DType dtype) {
  switch (dtype) {
  case program::F32:
    return ElementType::F32;
  case program::BF16:
    return ElementType::BF16;
  case program::F16:
    return ElementType::F16;
  case program::I32:
    return ElementType::I32;
  case program::F64:
    return ElementType::F64;
  case program::U8:
    return ElementType::U8;
  default:
    return std::nullopt;
  }
}

/// Of what is kept from step to step but is no parameter.
static constexpr std::string_view statePrefix = "state.";

static bool isState(const program::Parameter &parameter) {
  return parameter.name().starts_with(statePrefix);
}

bool hocket::isWeight(const program::Program &program,
                      const ParameterSlice &slice) {
  return slice.state() == "value" &&
         !isState(program.parameters(int(slice.parameter())));
}

/// The global tensor that a slice is part of.
static StatusOr<TensorSpec> tensorOf(const program::Program &program,
                                     const ParameterSlice &slice) {
  const program::Parameter &parameter =
      program.parameters(int(slice.parameter()));
  TensorSpec spec;
  spec.key.name = parameter.name();
  if (isState(parameter))
    spec.key = {"state", parameter.name().substr(statePrefix.size())};
  program::DType dtype = parameter.dtype();
  spec.shape.assign(parameter.shape().begin(), parameter.shape().end());
  for (const auto &slot : parameter.slots())
    if (slot.name() == slice.state()) {
      spec.key.slot = slot.name();
      dtype = slot.dtype();
      spec.shape.assign(slot.shape().begin(), slot.shape().end());
    }
  std::optional<ElementType> type = elementType(dtype);
  if (!type)
    return internalError(spec.key.text() + ": cannot be saved");
  spec.type = *type;
  return spec;
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// The part of a rank's slice that lies inside the tensor.
static SliceBounds insideOf(const RankSlice &slice) {
  return {slice.start, slice.inside};
}

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

/// What this rank saves.
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

/// What all ranks save, which follows from the program alone.
static StatusOr<std::vector<SavedTensor>>
savedTensors(const program::Program &program) {
  std::map<TensorKey, SavedTensor> tensors;
  RankPlaces places(program);
  for (const program::Role &role : program.roles())
    for (const ParameterSlice &slice : role.slices()) {
      HOCKET_ASSIGN_OR_RETURN(TensorSpec spec, tensorOf(program, slice));
      SavedTensor &tensor = tensors[spec.key];
      tensor.spec = spec;
      for (uint32_t rank : role.ranks()) {
        RankSlice place = RankSlice::of(program, places, slice, rank);
        if (place.saves && !place.isEmpty())
          tensor.slices.push_back({rank, insideOf(place)});
      }
    }
  std::vector<SavedTensor> sorted;
  for (auto &[key, tensor] : tensors)
    sorted.push_back(std::move(tensor));
  return sorted;
}

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

/// Rank 0 makes the folder, all write, rank 0 commits.
static Status saveTogether(Executor &executor, const RunState &state,
                           const std::string &dir) {
  comm::Communicator &world = executor.communicators().world();
  std::unique_ptr<PendingIteration> pending;
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
  HOCKET_ASSIGN_OR_RETURN(auto tensors, ownTensors(executor));
  auto written = writeShard(folder, world.rank(), world.size(), tensors);
  HOCKET_RETURN_IF_ERROR(agree(world, written.status()));
  HOCKET_ASSIGN_OR_RETURN(std::vector<Shard> shards,
                          gatherShards(world, *written));
  if (world.rank() == 0) {
    auto all = savedTensors(executor.program());
    status = all.ok() ? pending->commit(state, shards, *all) : all.status();
  }
  return agree(world, status);
}

Status hocket::saveRun(Executor &executor, const RunState &state,
                       const std::string &dir) {
  comm::PatientScope patient(executor.communicators().activity(),
                             "saving a checkpoint");
  if (executor.communicators().world().size() > 1)
    return saveTogether(executor, state, dir);
  HOCKET_ASSIGN_OR_RETURN(auto tensors, ownTensors(executor));
  return saveCheckpoint(dir, state, tensors);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Whether a checkpoint may do without this tensor.
static bool isOptional(const TensorSpec &spec) {
  return spec.key.name == "state";
}

/// What counts steps and scales the loss: a run that starts anew has its own.
static bool isCounter(const program::Parameter &parameter) {
  constexpr std::string_view names[] = {"optimizer_step", "loss_scale",
                                        "good_steps"};
  return isState(parameter) &&
         std::ranges::count(
             names,
             std::string_view(parameter.name()).substr(statePrefix.size())) > 0;
}

/// The first rank reads every byte to compare digests, for all; of a checkpoint
/// whose weights alone are asked for, every byte of these.
static StatusOr<Checkpoint> openTogether(comm::Communicator &world,
                                         const std::string &dir,
                                         Completeness completeness) {
  Checkpoint::OpenOptions quick{.verifyDigests = false};
  Checkpoint::OpenOptions whole{.skipOptimizer =
                                    completeness == Completeness::WeightsAlone};
  StatusOr<Checkpoint> opened = world.rank() == 0
                                    ? Checkpoint::open(dir, whole)
                                    : unavailable("not opened yet");
  Status first = world.rank() == 0 ? opened.status() : okStatus();
  HOCKET_RETURN_IF_ERROR(agree(world, first));
  if (world.rank() > 0)
    opened = Checkpoint::open(dir, quick);
  HOCKET_RETURN_IF_ERROR(agree(world, opened.status()));
  return opened;
}

static std::map<TensorKey, TensorSpec> byKey(const Checkpoint &stored) {
  std::map<TensorKey, TensorSpec> specs;
  for (TensorSpec &spec : stored.tensors())
    specs.emplace(spec.key, std::move(spec));
  return specs;
}

/// Every tensor of the program that `stored` must have. Weights may be wider or
/// narrower there: what is frozen is kept as the model computes with it.
static StatusOr<std::vector<TensorSpec>>
expectedTensors(const program::Program &program,
                const std::map<TensorKey, TensorSpec> &stored) {
  HOCKET_ASSIGN_OR_RETURN(std::vector<SavedTensor> all, savedTensors(program));
  std::vector<TensorSpec> expected;
  for (SavedTensor &tensor : all) {
    auto found = stored.find(tensor.spec.key);
    if (found == stored.end() && isOptional(tensor.spec))
      continue;
    if (found != stored.end() && tensor.spec.key.slot.empty() &&
        toFloats({}, found->second.type))
      tensor.spec.type = found->second.type;
    expected.push_back(std::move(tensor.spec));
  }
  return expected;
}

namespace {
/// Fills elements of a tensor, of its type, from where they are stored.
using SliceReader = std::function<Status(
    const TensorSpec &spec, const SliceBounds &slice, std::span<uint8_t> out)>;
} // namespace

static Status loadSlice(Executor &executor, const ParameterSlice &slice,
                        const SliceReader &read) {
  HOCKET_ASSIGN_OR_RETURN(TensorSpec spec, tensorOf(executor.program(), slice));
  RankSlice place = RankSlice::of(executor.program(), slice, executor.rank());
  if (place.isEmpty())
    return okStatus();
  SliceBounds inside = insideOf(place);
  uint64_t size = elementBytes(spec.type);
  std::vector<uint8_t> bytes(elementsOf(inside) * size);
  HOCKET_RETURN_IF_ERROR(read(spec, inside, bytes));
  if (place.isPadded()) {
    std::vector<uint8_t> padded(executor.sliceBytes(slice));
    copyShared(inside, bytes, {place.start, place.size}, padded, size);
    bytes = std::move(padded);
  }
  return executor.writeSlice(slice, 0, bytes.data(), bytes.size());
}

/// Whether a weight is of a head of tokens, or of the order of two texts.
static bool isOfTokenHead(const std::string &name) {
  constexpr std::string_view heads[] = {"head_transform.", "head_norm.",
                                        "head.", "sentence_head."};
  return std::ranges::any_of(
      heads, [&](std::string_view head) { return name.starts_with(head); });
}

/// Ok if `stored` are the program's weights. Of a model without adapters those
/// of the program may begin anew; and so may a head of classes, in the place of
/// the head of tokens that is stored.
static Status expectWeightsOf(const program::Program &program,
                              const std::string &place,
                              std::vector<TensorSpec> stored) {
  HOCKET_ASSIGN_OR_RETURN(std::vector<SavedTensor> all, savedTensors(program));
  bool hasAdapters = std::ranges::any_of(
      stored, [](const TensorSpec &spec) { return isAdapter(spec.key.name); });
  std::vector<TensorSpec> wanted;
  for (SavedTensor &tensor : all)
    if (tensor.spec.key.slot.empty() && !isOptional(tensor.spec) &&
        (hasAdapters || !isAdapter(tensor.spec.key.name)))
      wanted.push_back(std::move(tensor.spec));
  if (program.training().has_classification()) {
    std::erase_if(stored, [](const TensorSpec &spec) {
      return isOfTokenHead(spec.key.name);
    });
    std::erase_if(wanted, [&](const TensorSpec &spec) {
      return checkpoint::isOfClassHead(spec.key.name) &&
             std::ranges::find(stored, spec.key, &TensorSpec::key) ==
                 stored.end();
    });
  }
  return expectWeights(place, wanted, stored);
}

static std::vector<TensorSpec> weightsIn(const Checkpoint &stored) {
  std::vector<TensorSpec> weights;
  for (TensorSpec &spec : stored.tensors())
    if (spec.key.slot.empty() && !isOptional(spec))
      weights.push_back(std::move(spec));
  return weights;
}

/// `status`, why a run cannot go on, and what to do where its weights fit.
static Status withHint(const Executor &executor, const Checkpoint &stored,
                       const Status &status) {
  bool fits = expectWeightsOf(executor.program(), "", weightsIn(stored)).ok();
  if (!fits || !executor.hasEntry("train_step"))
    return status;
  return Status(status.code(),
                status.message() +
                    "; its weights fit, and --finetune starts a new run from "
                    "them alone");
}

StatusOr<RunState> hocket::loadRun(Executor &executor, const std::string &dir) {
  comm::PatientScope patient(executor.communicators().activity(),
                             "loading a checkpoint");
  Completeness completeness = executor.hasEntry("train_step")
                                  ? Completeness::SlotsOptional
                                  : Completeness::WeightsAlone;
  HOCKET_ASSIGN_OR_RETURN(
      Checkpoint stored,
      openTogether(executor.communicators().world(), dir, completeness));
  const std::map<TensorKey, TensorSpec> all = byKey(stored);
  HOCKET_ASSIGN_OR_RETURN(std::vector<TensorSpec> expected,
                          expectedTensors(executor.program(), all));
  if (Status status = stored.expectTensors(expected, completeness);
      !status.ok())
    return withHint(executor, stored, status);
  SliceReader read = [&](const TensorSpec &spec, const SliceBounds &slice,
                         std::span<uint8_t> out) {
    return readConverted(stored, all.at(spec.key), slice, spec.type, out);
  };
  for (const ParameterSlice &slice : executor.role().slices()) {
    HOCKET_ASSIGN_OR_RETURN(TensorSpec spec,
                            tensorOf(executor.program(), slice));
    if (all.contains(spec.key))
      HOCKET_RETURN_IF_ERROR(loadSlice(executor, slice, read));
  }
  return stored.state();
}

//===----------------------------------------------------------------------===//
// Weights alone
//===----------------------------------------------------------------------===//

StatusOr<LoadedWeights> hocket::loadWeights(Executor &executor,
                                            const std::string &dir) {
  comm::PatientScope patient(executor.communicators().activity(),
                             "loading weights");
  HOCKET_ASSIGN_OR_RETURN(Checkpoint stored,
                          openTogether(executor.communicators().world(), dir,
                                       Completeness::WeightsAlone));
  HOCKET_RETURN_IF_ERROR(
      expectWeightsOf(executor.program(), stored.path(), weightsIn(stored)));
  const std::map<TensorKey, TensorSpec> all = byKey(stored);
  SliceReader read = [&](const TensorSpec &spec, const SliceBounds &slice,
                         std::span<uint8_t> out) {
    return readConverted(stored, all.at(spec.key), slice, spec.type, out);
  };
  for (const ParameterSlice &slice : executor.role().slices()) {
    HOCKET_ASSIGN_OR_RETURN(TensorSpec spec,
                            tensorOf(executor.program(), slice));
    const auto &parameter =
        executor.program().parameters(int(slice.parameter()));
    // A router's bias is part of the model, though no optimizer moves it.
    auto found = all.find(spec.key);
    if (found == all.end() || !spec.key.slot.empty() || isCounter(parameter) ||
        found->second.shape != spec.shape)
      continue;
    HOCKET_RETURN_IF_ERROR(loadSlice(executor, slice, read));
  }
  LoadedWeights loaded{stored.path(), stored.state().step, {}};
  for (const auto &parameter : executor.program().parameters())
    if (checkpoint::isOfClassHead(parameter.name()) &&
        !all.contains({parameter.name(), ""}))
      loaded.fresh.push_back(parameter.name());
  return loaded;
}

Status hocket::loadWeights(Executor &executor, const std::string &place,
                           std::span<const CheckpointTensor> tensors) {
  comm::PatientScope patient(executor.communicators().activity(),
                             "loading weights");
  std::vector<TensorSpec> specs;
  std::map<TensorKey, const CheckpointTensor *> given;
  for (const CheckpointTensor &tensor : tensors) {
    specs.push_back(tensor.spec);
    given.emplace(tensor.spec.key, &tensor);
  }
  HOCKET_RETURN_IF_ERROR(expectWeightsOf(executor.program(), place, specs));
  SliceReader read = [&](const TensorSpec &spec, const SliceBounds &slice,
                         std::span<uint8_t> out) {
    return readConverted(*given.at(spec.key), slice, spec.type, out)
        .withContext(place);
  };
  for (const ParameterSlice &slice : executor.role().slices()) {
    HOCKET_ASSIGN_OR_RETURN(TensorSpec spec,
                            tensorOf(executor.program(), slice));
    if (given.contains(spec.key))
      HOCKET_RETURN_IF_ERROR(loadSlice(executor, slice, read));
  }
  return okStatus();
}
