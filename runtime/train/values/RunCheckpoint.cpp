//===- RunCheckpoint.cpp - An executor filled from a checkpoint -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/values/RunCheckpoint.h"

#include "runtime/checkpoint/WeightFit.h"
#include "runtime/checkpoint/hugging_face/Adapters.h"
#include "runtime/train/step/RankAgreement.h"
#include "runtime/train/values/RunTensors.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::checkpoint;
using program::ParameterSlice;

bool hocket::isWeight(const program::Program &program,
                      const ParameterSlice &slice) {
  return slice.state() == "value" &&
         !isState(program.parameters(int(slice.parameter())));
}

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
