//===- RankSession.cpp - A program on one rank's device -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/RankSession.h"

#include "base/Format.h"
#include "runtime/checkpoint/ModelFields.h"
#include "runtime/comm/nccl/NcclApi.h"
#include "runtime/comm/nccl/NcclWorld.h"
#include "runtime/executor/ProgramGroups.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/hal/drivers/cuda/CudaDevice.h"
#include "runtime/program/NcclMemory.h"
#include "runtime/train/step/RankAgreement.h"
#include "runtime/train/step/StepHost.h"
#include "runtime/train/values/Initialize.h"

using namespace hocket;

void RankSession::print(const std::string &line) const {
  if (isFirst() && output.print)
    output.print(line);
}

std::unique_ptr<PhaseNotice> RankSession::phase(const std::string &text) const {
  if (!isFirst() || !output.print)
    return nullptr;
  return std::make_unique<PhaseNotice>(output, text);
}

std::string RankSession::banner() const {
  const hal::DeviceProperties &about = loaded->device().properties();
  unsigned ranks = world().size();
  std::string text = formatText(
      "%s: %s parameters, %s, %s of memory on %u thread%s of %s%s",
      seat.program->model().name().c_str(),
      formatCount(double(seat.program->model().parameter_count())).c_str(),
      seat.program->training().precision().c_str(),
      formatBytes(loaded->device().allocatedBytes()).c_str(), about.workers,
      about.workers == 1 ? "" : "s", about.name.c_str(),
      about.isa.empty() ? "" : (" (" + about.isa + ")").c_str());
  return ranks == 1 ? text
                    : text + formatText("; rank 0 of %u, %s", ranks,
                                        seat.launcher.c_str());
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

Status RankSession::load() {
  comm::PatientScope patient(communicators.activity(), "loading kernels");
  auto notice = phase("loading kernels");
  unsigned gpu = seat.gpu.value_or(world().rank());
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<hal::Device> device,
                          hal::createDevice(seat.program->provenance().target(),
                                            {seat.threads, gpu}));
  if (device->properties().driver == "cuda" && world().size() > 1)
    HOCKET_RETURN_IF_ERROR(connectGpus(gpu));
  HOCKET_ASSIGN_OR_RETURN(
      loaded, Executor::create(seat.program, std::move(device),
                               betweenGpus ? *betweenGpus : communicators));
  return okStatus();
}

/// What comes on top of the memory that was planned, before it is taken.
void RankSession::sayWhatNcclTakes(unsigned gpu,
                                   const comm::nccl::NcclRoom &room) const {
  auto gpus = hal::listGpus();
  auto api = comm::nccl::ncclApi();
  if (!api.ok() || !gpus.ok() || gpu >= gpus->size())
    return;
  unsigned limit = room.blockLimitWith(**api);
  unsigned channels = limit > 0 ? limit : ncclChannels;
  uint64_t taken = 0, planned = 0; // Of the fullest rank.
  for (const program::Role &role : seat.program->roles()) {
    uint64_t nccl = estimateNcclBytes(*seat.program, role, channels);
    uint64_t arena = role.memory().arena_bytes();
    if (nccl + arena >= taken + planned)
      taken = nccl, planned = arena;
  }
  uint64_t has = (*gpus)[gpu].memoryBytes;
  std::string text = "NCCL takes about " + formatBytes(taken) +
                     " of a GPU's memory beside the program's " +
                     formatBytes(planned);
  if (taken + planned > has)
    text += ", more than the " + formatBytes(has) +
            " that it has: compile with a smaller --memory";
  print(text);
}

/// Where a rank has no NCCL, messages go through host memory.
Status RankSession::connectGpus(unsigned gpu) {
  comm::GroupTable table = groupTableOf(*seat.program);
  HOCKET_ASSIGN_OR_RETURN(auto room,
                          comm::nccl::NcclRoom::of(gpu, table.atOnce));
  sayWhatNcclTakes(gpu, room);
  auto world = comm::createNcclWorld(communicators, table, gpu);
  if (world.ok()) {
    betweenGpus = *std::move(world);
    print("messages between GPUs go through NCCL, " +
          issueOrderText(**comm::nccl::ncclApi(), room));
    return okStatus();
  }
  if (world.status().code() != StatusCode::FailedPrecondition)
    return world.status();
  print("messages between GPUs go through host memory: " +
        world.status().message());
  return okStatus();
}

void RankSession::fail(const Status &status) {
  // While what waits for the GPU can still be aborted.
  if (betweenGpus)
    betweenGpus->fail(status);
}

//===----------------------------------------------------------------------===//
// The weights
//===----------------------------------------------------------------------===//

Status RankSession::initialize(bool restoreFollows) {
  comm::PatientScope patient(communicators.activity(), "making first values");
  auto notice = phase("making first values");
  return initializeParameters(*loaded, seat.threads,
                              restoreFollows ? FirstValues::BesideWeights
                                             : FirstValues::All);
}

/// Weights fit another model too, whose text the user may not have meant.
static std::vector<std::string>
otherModelNotices(const checkpoint::RunState &state, const std::string &here,
                  const std::string &dir) {
  constexpr size_t most = 8;
  std::vector<std::string> notices;
  for (const checkpoint::ModelField &field :
       checkpoint::differentModelFields(state.specText, here))
    notices.push_back("warning: " + dir + " was trained with " + field.path +
                      ": " + field.stored + ", which is " +
                      (field.here.empty() ? "not set" : field.here) + " here");
  if (notices.size() > most) {
    size_t more = notices.size() - most;
    notices.resize(most);
    notices.push_back(formatText("warning: %zu more fields of the model "
                                 "differ",
                                 more));
  }
  return notices;
}

StatusOr<checkpoint::RunState> RankSession::restore(const std::string &dir) {
  auto notice = phase("loading " + dir);
  HOCKET_ASSIGN_OR_RETURN(checkpoint::RunState state, loadRun(*loaded, dir));
  const std::string &here = loaded->program().provenance().spec_text();
  notice.reset();
  for (const std::string &line : otherModelNotices(state, here, dir))
    print(line);
  return state;
}

StatusOr<LoadedWeights>
RankSession::takeWeights(const std::string &dir,
                         const ImportedWeights *imported) {
  auto notice = phase("loading " + dir);
  if (!imported)
    return loadWeights(*loaded, dir);
  HOCKET_RETURN_IF_ERROR(loadWeights(*loaded, dir, imported->tensors));
  return LoadedWeights{dir, 0, imported->fresh};
}

Status RankSession::prepare() {
  if (!loaded->hasEntry("prepare"))
    return okStatus();
  StepHost nothing([](data::Batch &) {
    return invalidArgument("the entry 'prepare' wants tokens");
  });
  return loaded->run("prepare", 0, nothing);
}

//===----------------------------------------------------------------------===//
// CUDA graphs
//===----------------------------------------------------------------------===//

Status RankSession::checkGraph(const std::string &entry, GraphUse use) const {
  HOCKET_RETURN_IF_ERROR(loaded->checkCapturable(entry));
  // NVIDIA's documentation of NCCL ("Using NCCL with CUDA Graphs") expects
  // that graphs of several GPUs of one process may keep each other from being
  // launched: only where somebody insists.
  bool areThreads = !seat.gpu && connectsGpus();
  return areThreads && use == GraphUse::Auto
             ? failedPrecondition(
                   "graphs of several GPUs of one process may wait for each "
                   "other; start a process for each (mpirun, torchrun), or "
                   "insist (--cuda-graphs on)")
             : okStatus();
}

/// The same where it is ok on all ranks.
Status RankSession::agreed(const Status &own) const {
  HOCKET_ASSIGN_OR_RETURN(bool anyFails, anyOf(world(), !own.ok()));
  return own.ok() && anyFails ? failedPrecondition("another rank cannot") : own;
}

Status RankSession::capture(const std::string &entry, const Status &own) {
  Status status = agreed(own);
  if (status.ok())
    status = agreed(loaded->capture(entry));
  if (!status.ok())
    loaded->forgetGraphs();
  return status;
}
