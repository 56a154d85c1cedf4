//===- ProgramTimes.cpp - Where steps of small programs go ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/calibrate/ProgramTimes.h"

#include "base/File.h"
#include "base/Format.h"
#include "compiler/tools/planning/PlanProblem.h"
#include "passes/planning/calibration/FitSystem.h"
#include "runtime/comm/local/LocalWorld.h"
#include "runtime/executor/Executor.h"
#include "runtime/train/step/StepHost.h"
#include "runtime/train/values/Initialize.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <unistd.h>

using namespace hocket;
using namespace hocket::planning;

namespace {

struct Size {
  int layers, hidden, heads, vocab, sequence, batch;
};
constexpr std::array<Size, 4> sizes = {{{2, 192, 3, 2048, 192, 4},
                                        {2, 512, 8, 3072, 128, 4},
                                        {3, 320, 10, 6144, 256, 2},
                                        {1, 640, 10, 2048, 384, 2}}};

std::string specOf(const Size &size) {
  return formatText("name: \"calibration\"\n"
                    "model { layers: %d hidden: %d heads: %d vocab_size: %d "
                    "max_positions: %d }\n"
                    "training { sequence_length: %d global_batch_size: %d "
                    "precision: FP32 }\nplan { micro_batch_size: %d }\n",
                    size.layers, size.hidden, size.heads, size.vocab,
                    size.sequence, size.sequence, size.batch, size.batch);
}

/// A folder that goes with everything in it.
class ScratchFolder {
public:
  ScratchFolder() = default;
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path.empty())
      std::filesystem::remove_all(path, ignored);
  }

  Status create() {
    std::error_code error;
    auto place = std::filesystem::temp_directory_path(error);
    std::string name = (place / "hocket-calibrate-XXXXXX").string();
    if (error || !::mkdtemp(name.data()))
      return unavailable("cannot make a folder in the one for temporary files");
    path = name;
    return okStatus();
  }
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  std::string path;
};

StatusOr<SmallProgram> compileOne(const CompileProgram &compile,
                                  const std::string &path, const Size &size) {
  HOCKET_RETURN_IF_ERROR(writeFileAtomically(path, specOf(size)));
  // Of the problem, what does not depend on a system.
  HOCKET_ASSIGN_OR_RETURN(CostProblem problem,
                          planProblem({path, {}, "a100:1"}));
  SmallProgram small;
  small.sample.model = problem.model;
  small.sample.step = problem.step;
  small.sample.plan.microBatch = size.batch;
  HOCKET_ASSIGN_OR_RETURN(program::Program program, compile(path));
  small.program = std::make_shared<program::Program>(std::move(program));
  return small;
}

/// Runs steps on tokens that do not matter.
class StepRuns {
public:
  StepRuns(const SmallProgram &small, comm::Communicator &world)
      : small(small), world(world), own(comm::createSingleRank()),
        host([this](data::Batch &batch) { return fill(batch); }) {}

  Status create(std::unique_ptr<hal::Device> device) {
    HOCKET_ASSIGN_OR_RETURN(
        executor, Executor::create(small.program, std::move(device), *own));
    return initializeParameters(*executor);
  }
  /// One step of all ranks at once.
  StatusOr<ProgramSample> step();

private:
  Status fill(data::Batch &batch) const;
  void add(const program::Sequence &sequence,
           const std::vector<MeasuredTime> &times, ProgramSample &sample) const;

  const SmallProgram &small;
  comm::Communicator &world;
  std::unique_ptr<comm::CommunicatorSet> own;
  std::unique_ptr<Executor> executor;
  StepHost host;
  uint64_t steps = 0;
};

Status StepRuns::fill(data::Batch &batch) const {
  const StepShape &step = small.sample.step;
  batch.sequenceLength = uint64_t(step.sequence);
  batch.tokens.resize(size_t(step.sequence * step.globalBatch));
  uint32_t random = 1;
  for (int32_t &token : batch.tokens) {
    constexpr uint32_t multiplier = 1664525, increment = 1013904223;
    random = random * multiplier + increment;
    token = int32_t((random >> 8) % uint32_t(small.sample.model.vocab));
  }
  batch.labels = batch.tokens;
  return okStatus();
}

/// Whatever updates parameters is an update.
void StepRuns::add(const program::Sequence &sequence,
                   const std::vector<MeasuredTime> &times,
                   ProgramSample &sample) const {
  bool updates = sequence.name() == "update";
  for (int i = 0; i < sequence.instructions_size(); ++i) {
    const program::Instruction &instruction = sequence.instructions(i);
    const std::string &op = instruction.library().op();
    double &kind = updates                      ? sample.update
                   : instruction.has_gemm()     ? sample.gemms
                   : op == "attention_forward"  ? sample.attention
                   : op == "attention_backward" ? sample.attentionBackward
                                                : sample.memory;
    if (!instruction.has_host())
      kind += times[size_t(i)].seconds;
  }
}

StatusOr<ProgramSample> StepRuns::step() {
  HOCKET_RETURN_IF_ERROR(world.barrier());
  constexpr double rate = 1e-4;
  host.begin(steps, rate);
  executor->startProfile();
  auto start = std::chrono::steady_clock::now();
  HOCKET_RETURN_IF_ERROR(executor->run("train_step", steps++, host));
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  ProgramSample sample = small.sample;
  for (int i = 0; i < executor->role().sequences_size(); ++i)
    add(executor->role().sequences(i), executor->profile()[size_t(i)], sample);
  sample.outside = std::max(0.0, taken.count() - sample.seconds());
  return sample;
}

/// Kind by kind; of samples of one program.
ProgramSample medianOf(const std::vector<ProgramSample> &samples) {
  ProgramSample result = samples.front();
  for (double ProgramSample::*kind : kProgramKinds) {
    std::vector<double> times;
    for (const ProgramSample &sample : samples)
      times.push_back(sample.*kind);
    result.*kind = median(std::move(times));
  }
  return result;
}

} // namespace

StatusOr<std::vector<SmallProgram>>
planning::compileSmallPrograms(const CompileProgram &compile, bool isShort) {
  ScratchFolder folder;
  HOCKET_RETURN_IF_ERROR(folder.create());
  std::vector<SmallProgram> programs;
  for (size_t i = 0; i < (isShort ? 2 : sizes.size()); ++i) {
    HOCKET_ASSIGN_OR_RETURN(
        SmallProgram small,
        compileOne(compile, folder.file("spec.textproto"), sizes[i]));
    programs.push_back(std::move(small));
  }
  return programs;
}

StatusOr<ProgramSample>
planning::timeProgram(const SmallProgram &small,
                      std::unique_ptr<hal::Device> device,
                      comm::Communicator &world, double seconds) {
  StepRuns runs(small, world);
  HOCKET_RETURN_IF_ERROR(runs.create(std::move(device)));
  HOCKET_RETURN_IF_ERROR(runs.step().status());
  std::vector<ProgramSample> samples(1);
  HOCKET_ASSIGN_OR_RETURN(samples[0], runs.step());
  // All ranks make as many steps.
  auto taken = float(samples[0].seconds()), sum = taken;
  HOCKET_RETURN_IF_ERROR(world.allReduce(&taken, &sum, 1, kernels::DType::F32,
                                         comm::Reduction::Sum));
  constexpr double most = 20;
  double steps = std::min(most, seconds * world.size() / double(sum));
  for (double done = 1; done < steps; ++done) {
    HOCKET_ASSIGN_OR_RETURN(ProgramSample next, runs.step());
    samples.push_back(next);
  }
  return medianOf(samples);
}
